"""A path as one HTML page."""

from .page import write_report

__all__ = ["write_report"]
