"""The command ``fwlasso``."""

from .app import main

__all__ = ["main"]
