"""Packages that only some files need."""

from importlib import import_module
from typing import Any


def optional(module: str, what: str) -> Any:
    """Import a module, or say what needs it and how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        raise ModuleNotFoundError(
            f"reading {what} files needs {package}: pip install 'fwlasso[data]'", name=package
        ) from error
