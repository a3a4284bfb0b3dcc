"""``python -m fwlasso``."""

from .cli.app import main

main()
