"""``python -m fwlasso``."""

from .cli import main

main()
