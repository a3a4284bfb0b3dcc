"""How a call of the command line ends: its exit code, and a line for a fault. Nothing heavy is imported here."""

from rich.console import Console
from rich.markup import escape

EXIT_BAD_INPUT, EXIT_INCOMPLETE, EXIT_UNMET, EXIT_INTERRUPTED, EXIT_TERMINATED = 2, 3, 4, 130, 143
EXIT_CODES = (
    "Exit codes: 0 the path is complete; 2 bad input; 3 the path ended early, and what is solved is saved; "
    "4 the path is complete and saved, but some points do not meet --tol; "
    "130 Ctrl-C, or 143 SIGTERM, before there was anything to save."
)


def say_fault(text: str) -> None:
    """Say in a line what is wrong."""
    Console(stderr=True, highlight=False).print(f"[red]fwlasso:[/red] {escape(' '.join(text.split()))}", soft_wrap=True)
