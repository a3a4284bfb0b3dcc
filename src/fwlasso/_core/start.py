"""Ctrl-C while the command line imports what it needs: a line, and no traceback. To import this takes no time."""

import os
import signal
import sys


class QuietImports:
    """Within this context Ctrl-C ends the command line, and nobody else, with a line.

    An exception in the midst of an import may come out as another one, or not at all. There is nothing to put in order
    yet, so the process ends where it is.
    """

    def __enter__(self) -> None:
        is_command = os.path.basename(sys.argv[0]) == "fwlasso" or sys.orig_argv[1:3] == ["-m", "fwlasso"]  # noqa: PTH119
        self._is_ours = is_command and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._is_ours:
            signal.signal(signal.SIGINT, _leave)

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, _frame: object) -> None:
    os.write(2, b"fwlasso: interrupted\n")
    os._exit(128 + number)
