"""The version, alone: the command line shows it before anything else is imported."""

__version__ = "0.1.0"
