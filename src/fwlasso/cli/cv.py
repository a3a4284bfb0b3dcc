"""The command ``fwlasso cv``: a path, and the choice of a model on it by cross-validation."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from .._core.columns import Vector
from ..options import Options
from ..selection.criteria import INFORMATION_RULES, SCORE_RULES
from ..selection.cross_validation import cross_validate, in_folders
from ..selection.folds import DEFAULT_FOLDS, SelectionOptions
from .cluster import Cluster
from .names import at_places
from .options import Input, RunFolder
from .path import NOT_SCORED, Scored, finish, resumable
from .read import read_data, read_validation
from .save import check_folder, clear_folder, runs_in
from .show import Detail, solving

RULES = (*SCORE_RULES, *INFORMATION_RULES)


class Folds(NamedTuple):
    """How the rows are parted."""

    folds: Annotated[int | None, typer.Option(help="Number of folds. Default: 5.")] = None
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Draw the folds at random, for sorted rows.")] = False
    stratify: Annotated[bool, typer.Option("--stratify", help="Balance responses between folds, as classes are.")] = (
        False
    )
    groups: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="One label per row: rows with equal labels stay together.",
        ),
    ] = None

    def split(self, y: Vector, seed: int, loss: str) -> Any:
        """Return the rows of every fold that are fitted, and those that are held out; or the number of folds."""
        is_balanced = self.stratify or loss == "logistic"
        if not (self.shuffle or self.stratify or self.groups):
            return self.folds
        from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold

        n_folds, m = self.folds or DEFAULT_FOLDS, len(y)
        # Strata are runs of the sorted responses, as many as give each fold a part of every one; classes are, too.
        ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable")
        strata = ranks * max(m // n_folds, 1) // m if is_balanced else np.zeros(m, np.int64)
        drawn: dict[str, Any] = {"shuffle": self.shuffle, "random_state": seed if self.shuffle else None}
        if self.groups is not None:
            labels = self.groups.read_text(encoding="utf-8").splitlines()
            if len(labels) != m:
                raise ValueError(f"--groups: {self.groups} has {len(labels)} lines, and the data have {m} rows")
            if len(set(labels)) < n_folds:
                raise ValueError(
                    f"--groups: {self.groups} has {len(set(labels))} groups, and there are {n_folds} folds"
                )
            return list(StratifiedGroupKFold(n_folds, **drawn).split(strata, strata, labels))
        splitter = StratifiedKFold(n_folds, **drawn) if is_balanced else KFold(n_folds, **drawn)
        return list(splitter.split(strata, strata))


def cv(
    source: Input,
    folds: Folds,
    rule: Annotated[
        str, typer.Option(help=f"How the model is chosen: {', '.join(RULES)}.", autocompletion=lambda: list(RULES))
    ] = "min",
    scoring: Annotated[
        str | None, typer.Option(help="A scorer of scikit-learn, such as roc_auc. Default: squared error, or deviance.")
    ] = None,
    relax: Annotated[bool, typer.Option("--relax", help="Choose among least-squares refits as well.")] = False,
    validation: Annotated[
        str | None, typer.Option(metavar="FILE|SHARE", help="Held-out data, or a share of the rows, instead of folds.")
    ] = None,
    *,
    asked: list[Options],
    folder: RunFolder,
    cluster: Cluster,
    detail: Detail,
) -> None:
    """Compute a path on the data in FILE, and choose a model on it by cross-validation or by an information criterion.

    With --out the paths, those of the folds, too, are saved while they are computed: the same command with --resume
    goes on, and another --rule or --relax chooses again from what is solved.

    For example:

    fwlasso cv train.svm --standardize --rule 1se --out result

    fwlasso cv train.svm --standardize --rule min --out result --resume

    fwlasso cv table.csv --target price --shuffle --seed 1

    fwlasso cv table.csv --target price --validation new.csv --json

    fwlasso cv mails.svm --loss logistic --scoring roc_auc --out spam
    """
    if rule not in RULES:
        raise ValueError(f"--rule must be one of {', '.join(RULES)}, got {rule!r}")
    if folds.folds is not None and folds.folds < 2:
        raise ValueError(f"--folds must be at least 2, got {folds.folds}")
    if folds != Folds() and validation is not None:
        raise ValueError("give --folds, --shuffle, --stratify and --groups, or --validation, not both")
    cluster.check(source, folder, validation=validation, stratify=folds.stratify)
    check_folder(folder)
    if cluster.is_here:  # in segments with and without a folder, so that it changes no bit, and so no choice
        asked = in_folders([replace(it, in_segments=True) for it in asked], folder.out)
    begun = None if folder.out is None or folder.overwrite else next(iter(runs_in(folder.out)), None)
    if begun is not None and asked[0].tol is None:
        asked = [replace(it, tol=begun.tol) for it in asked]  # of a path, say, whose default is another
    with ExitStack() as stack:
        data: Any = (
            read_data(source, detail, asked[0].loss)
            if cluster.is_here
            else stack.enter_context(cluster.reading(source, detail, asked[0]))
        )
        if data.feature_names is None:
            asked = [at_places(it, getattr(data, "first_index", None)) for it in asked]
        held_out: Any = None if validation is None else _share(validation)
        if validation is not None and held_out is None:
            rows = read_validation(Path(validation), data, source, detail)
            held_out = rows.X, rows.y, rows.sample_weight, rows.offset
        y = np.zeros(sum(data.sizes)) if hasattr(data, "sizes") else data.y
        split = folds.split(y, asked[0].random_state, asked[0].loss)
        selection = SelectionOptions(split, rule, scoring, relax, validation=held_out)
        clear_folder(folder)
        title = str(source.file)
        stack.enter_context(resumable(folder.out, detail))
        with solving(detail, title, data) as show:
            found = cross_validate(data, None, [replace(it, callback=show) for it in asked], selection)
        scored = Scored({found.choice.criterion: found.choice.scores}, found.choice)
        if np.isnan(found.choice.scores).all():  # ended before anything was solved in every fold
            scored = NOT_SCORED
        finish(found.path, title, folder.out, detail, ending=found.ending, scored=scored)


def _share(text: str) -> float | None:
    """Return a share of the rows; None if the text is no number, but the name of a file."""
    try:
        share = float(text)
    except ValueError:
        return None
    if not 0.0 < share < 1.0:
        raise ValueError(f"--validation must be a file, or a share between 0 and 1, got {text}")
    return share
