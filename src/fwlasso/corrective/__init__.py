"""The certified path: a fully corrective method with an exact, lazy oracle."""

from .follow import Tell, follow

__all__ = ["Tell", "follow"]
