"""Ctrl-C while the command line imports what it needs: a line, and no traceback. Nothing here takes time to import."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def quiet_imports() -> Iterator[None]:
    """Within this context Ctrl-C ends the command line, and nobody else, with a line.

    An exception in the midst of an import may come out as another one, or not at all. There is nothing to put in order
    yet, so the process ends where it is.
    """
    is_command = os.path.basename(sys.argv[0]) == "fwlasso" or sys.orig_argv[1:3] == ["-m", "fwlasso"]  # noqa: PTH119
    is_main = threading.current_thread() is threading.main_thread()
    if not is_command or not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, _frame: FrameType | None) -> None:
    os.write(2, b"fwlasso: interrupted\n")
    os._exit(128 + number)
