"""The command that compiles ahead of time, and says whether the kernels of a wheel are used."""

from typing import Annotated

import typer

from .._core.cache import own_folder
from .._core.shipped import baseline, why_not
from .options import AsJson, Quiet
from .show import Detail, put_json


def warm_up(
    *,
    check: Annotated[bool, typer.Option("--check", help="Say which kernels are used; compile none.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes that compile.")] = 1,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compile the kernels for all kinds of data, which takes minutes; later the first path of each starts at once.

    For example, while an image is built:

    fwlasso warm-up --jobs 4
    """
    detail = Detail(as_json, quiet)
    if not check:
        from ..warmup import compile_table

        compile_table(jobs)
    reason, folder = why_not(), own_folder()
    n_kernels = 0 if folder is None else len(list(folder.glob("*.nbc")))
    if as_json:
        put_json({"why_not": reason or None, "cache": None if folder is None else str(folder), "kernels": n_kernels})
        return
    console = detail.front()
    console.print(f"Kernels of the wheel: {f'not used, {reason}' if reason else f'used, for {baseline()[0]}'}.")
    place = "none, since no folder is private and writable: set NUMBA_CACHE_DIR" if folder is None else str(folder)
    console.print(f"Cache of your own: {place}{f', {n_kernels} kernels' if folder else ''}.", soft_wrap=True)
