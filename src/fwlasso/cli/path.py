"""The commands that compute a path: ``fwlasso path`` and ``fwlasso demo``."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.markup import escape

from .._core.columns import Vector
from ..data.checks import as_weights
from ..data.labels import encoded
from ..data.links import explained_shares, mean_deviances
from ..data.scores import r2_scores
from ..datasets import load_diabetes_products
from ..options import Options
from ..path import solve_path
from ..result import LassoPath
from ..selection.choice import Choice, choice_of_point
from ..selection.cross_validation import warn_at_end_of_grid
from ..selection.pictures import Judged, pictures_of
from ..status import Status, unfinished_points
from .cluster import Cluster
from .ending import EXIT_INCOMPLETE, EXIT_TERMINATED, EXIT_UNMET, say_fault
from .names import at_places
from .options import Input, RunFolder, Threads
from .read import read_data, read_sums, read_validation
from .save import check_folder, clear_folder, runs_in, save
from .show import Detail, as_records, noting_warnings, put_json, show_path, solving


class Scored(NamedTuple):
    """Scores of the points by name, and the choice that was made by them."""

    scores: dict[str, Vector]
    choice: Choice | None


NOT_SCORED = Scored({}, None)
_GO_ON = "--resume continues from here"


def path(
    source: Input,
    validation: Annotated[
        Path | None,
        typer.Option(
            "--validation",
            "--test",
            metavar="FILE",
            help="Held-out data: score every point on them, and choose the best. Its error on new data is larger.",
        ),
    ] = None,
    *,
    options: Options,
    folder: RunFolder,
    cluster: Cluster,
    detail: Detail,
) -> None:
    """Compute a path on the data in FILE.

    With --out the path is saved while it is computed, in three segments. After Ctrl-C, --time-limit or a power cut the
    same command with --resume goes on, and gives the same path, to the last bit, as if it had never stopped.

    For example:

    fwlasso path train.svm --standardize --out result

    fwlasso path train.svm --standardize --out result --resume

    fwlasso path table.csv --target price --validation new.csv --alphas 50 --json
    """
    cluster.check(source, folder, validation=validation)
    is_saved = check_folder(folder)
    if cluster.is_here:
        options = replace(options, checkpoint=folder.out, in_segments=validation is not None)
    with ExitStack() as stack:
        if cluster.is_here:
            data: Any = read_sums(source, detail, options) or read_data(source, detail, options.loss)
        else:
            data = stack.enter_context(cluster.reading(source, detail, options))
        if data.feature_names is None:
            options = at_places(options, getattr(data, "first_index", None))
        held_out = None if validation is None else read_validation(validation, data, source, detail)
        clear_folder(folder)
        title = str(source.file)
        stack.enter_context(resumable(folder.out, detail))
        result = solve(data, title, detail, options)
        with noting_warnings(detail):
            scored = NOT_SCORED if validation is None else score(result, validation, held_out)
        # A complete run is left as it is, unless it is to be scored on other data.
        is_saved = is_saved and validation is None
        finish(result, title, folder.out, detail, ending=result.ending, scored=scored, is_saved=is_saved)


def demo(
    order: Annotated[int, typer.Option(help="Degree of the product features.")] = 8,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the results; those of an earlier demo are replaced.")
    ] = Path("fwlasso-demo"),
    n_threads: Threads = None,
    *,
    detail: Detail,
) -> None:
    """Compute a path on embedded data: 442 diabetes patients, 43,758 product features of ten measurements.

    Every point is certified: its duality gap over all columns is at most a millionth of 1/2 ||y||^2.

    For example:

    fwlasso demo --out fwlasso-demo
    """
    options = Options(eps=1e-2, standardize=True, tol=1e-6, n_threads=n_threads, random_state=0, checkpoint=out)
    data = load_diabetes_products(order)
    folder = RunFolder(out, overwrite=out is not None)
    check_folder(folder)
    clear_folder(folder)
    title = f"diabetes, products of order {order}"
    result = solve(data, title, detail, options)
    finish(result, title, out, detail, ending=result.ending)


def solve(data: Any, title: str, detail: Detail, options: Options) -> LassoPath:
    """Solve with a progress bar."""
    with solving(detail, title, data) as show:
        return solve_path(data, None, replace(options, callback=show))


@contextmanager
def resumable(out: Path | None, detail: Detail) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM after a path, such as while its report is made, end as they do within it: it is saved."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as ended:
        is_signal = getattr(ended, "code", EXIT_TERMINATED) == EXIT_TERMINATED
        if not is_signal or out is None or not runs_in(out):
            raise
        detail.aside().print(f"interrupted: {escape(str(out))} holds the solved points. {_GO_ON}", soft_wrap=True)
        raise typer.Exit(EXIT_INCOMPLETE) from None


def finish(
    result: LassoPath,
    title: str,
    out: Path | None,
    detail: Detail,
    *,
    ending: Status | None,
    scored: Scored = NOT_SCORED,
    is_saved: bool = False,
) -> None:
    """Show a path and the model chosen on it, and save both; `is_saved` tells that this was done before.

    `ending` is what ended the work early, on folds, too.
    """
    more, choice = scored
    is_whole = ending is None or ending.is_complete
    console = detail.aside()
    if is_saved:
        detail.note(f"{out} holds this run already, and it is complete: nothing to do")
    if detail.as_json:
        put_json({**as_records(result, more, choice), "notices": detail.notices})
    elif not is_saved:
        show_path(result, detail, more, choice)
    if out is not None and not is_saved:
        try:
            names = save(result, out, title, choice, is_whole=is_whole)
        except OSError as error:  # such as of a full disk, after the points were saved
            say_fault(f"{error}. {out} holds the solved points: {_GO_ON}")
            raise typer.Exit(EXIT_INCOMPLETE) from None
        console.print(f"saved in {escape(str(out))}: {', '.join(names)}", soft_wrap=True)
    if not is_whole:
        if out is not None and runs_in(out):
            chosen = "" if choice is None else "The model is chosen from the solved points. "
            console.print(f"{chosen}{_GO_ON}")
        raise typer.Exit(EXIT_INCOMPLETE)
    if unfinished_points(result.statuses, result.settings["stop"]):
        raise typer.Exit(EXIT_UNMET)


def score(result: LassoPath, file: Path, held_out: Any) -> Scored:
    """Score every point on held-out data, and choose the one with the smallest error."""
    y = np.asarray(held_out.y, dtype=np.float64)
    predicted = result.predict(held_out.X, offset=held_out.offset if result.has_offset else None, kind="link")
    weights = None if held_out.sample_weight is None else as_weights(held_out.sample_weight, y.size)
    y = encoded(result.loss, y, result.classes, y.size)
    errors = mean_deviances(result.loss, predicted, y, weights)
    point, is_squared = int(np.argmin(errors)), result.loss == "squared"
    name = "mean squared error" if is_squared else "mean deviance"
    judged = Judged(y, predicted[:, point], np.ones(y.size) if weights is None else weights)
    choice = choice_of_point(result, point, "min", f"{name} on {file.name}", errors)
    choice = replace(choice, pictures=pictures_of(result.loss, result.classes, [judged]))
    if result.ending is None:
        warn_at_end_of_grid(result, choice)
    if is_squared:
        return Scored({"validation_mse": errors, "validation_r2": r2_scores(predicted, y, weights)}, choice)
    shares = explained_shares(result.loss, predicted, y, weights)
    return Scored({"validation_deviance": errors, "validation_d2": shares}, choice)
