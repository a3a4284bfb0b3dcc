"""Programs as text, run in processes of their own: what they do to memory, caches and signals stays there."""

import os
import subprocess
import sys
from typing import Any

#: For programs that measure their own memory, in bytes.
MEMORY = """
def memory(name):
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))

def with_peak(work):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # forget the peak so far
    before = memory("VmRSS")
    found = work()
    return found, memory("VmHWM") - before
"""


def run_program(code: str, *arguments: Any, **environment: Any) -> subprocess.CompletedProcess[str]:
    """Run Python text to its good end, warnings being errors, with these environment variables; None removes one."""
    together = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", code, *map(str, arguments)],
        env={name: str(value) for name, value in together.items() if value is not None},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def run_measured(code: str, *arguments: Any) -> list[float]:
    """Run a program that measures its own memory; return the numbers that it prints.

    With a low and fixed threshold malloc takes arrays from the system and gives them back: none hides in its pool.
    """
    done = run_program(code, *arguments, MALLOC_MMAP_THRESHOLD_=65536)
    return [float(number) for number in done.stdout.split()]
