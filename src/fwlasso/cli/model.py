"""The commands about models and runs that are there: ``fwlasso predict`` and ``fwlasso report``."""

import csv
import math
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from .._core.columns import Vector
from ..checkpoints.folder import MODEL, PATH, REPORT, read_checkpoint
from ..data.checks import as_weights
from ..data.compressed import write_text
from ..data.genotypes import Samples
from ..data.labels import encoded, plain_label
from ..data.links import explained_shares, from_link, mean_deviances
from ..data.predict import check_missing
from ..data.scores import r2_scores, squared_errors
from ..data.survival import concordance
from ..data.table import Table
from ..datasets.new_rows import Features, read_new_rows
from ..datasets.source import Wanted
from ..models import LinearModel
from ..report.page import write_report
from ..result import LassoPath
from . import options as given
from .names import names_in
from .save import load_choice
from .show import Detail, noting_warnings, put, put_json

# What to do in Python with a model of another kind.
_ONNX = "an ONNX model is for other programs: in Python, onnxruntime.InferenceSession(file).run predicts"
_PICKLE = (
    "a pickle can run any code, and is not opened here: in Python, joblib.load(file).predict(X) predicts, "
    "and LinearModel.from_estimator(joblib.load(file)).save('model.json') converts a Lasso"
)
_ELSEWHERE = {".onnx": _ONNX, ".joblib": _PICKLE, ".pkl": _PICKLE, ".pickle": _PICKLE}


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a run, model.json or path.npz.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"{given.KINDS}, with or without a response.")],
    point: Annotated[int | None, typer.Option(help="Point of a path, counted from 1 as in its table.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Penalty of a model on a path, interpolated.")] = None,
    target: given.Target = None,
    offset: given.Offset = None,
    zero_based: given.ZeroBased = None,
    pheno: given.Pheno = None,
    covariates: given.Covariates = None,
    keep: given.Keep = None,
    remove: given.Remove = None,
    exclude: given.Exclude = None,
    missing: Annotated[
        str, typer.Option(metavar="error|mean", help="Variants that are not in DATA: mean, where they stand at theirs.")
    ] = "error",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the predictions to this csv file.")] = None,
    as_json: given.AsJson = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but errors and, without --out, the predictions.")
    ] = False,
) -> None:
    """Predict the rows of DATA, one a line below the word "prediction"; with R2 and RMSE if the response is known.

    Predictions of two classes are labels, with the probability of the second one beside them; AUC, log loss and
    accuracy are told. Those of counts are rates.

    The model of a run is the one chosen with --validation or by fwlasso cv. Columns with names are found by name.

    For example:

    fwlasso predict result new.csv --target price

    fwlasso predict result new.csv --point 30 --out predictions.csv
    """
    check_missing(missing)
    fitted = load_model(model, point, alpha)
    response = fitted.about.get("target")
    features = Features(fitted.n_features, fitted.feature_names, fitted.first_index, fitted.means)
    if offset is not None and not fitted.has_offset:
        raise ValueError("offset: the model was fitted without an offset")
    if fitted.has_offset and offset is None and not data.is_dir():
        raise ValueError("offset: the model was fitted with an offset: give that of the rows of DATA")
    detail = Detail(as_json, quiet)
    run = read_checkpoint(model) if model.is_dir() else None
    if run is not None and not run.is_saved:
        detail.note(f"{model}: this run ended early; --resume continues it", "yellow")
    with noting_warnings(detail):
        chosen = Wanted(
            target, None, names_in(exclude) or (), needs_response=False, pheno=pheno, keep=keep, remove=remove
        )._replace(offset=offset, covariates=covariates)
        rows = read_new_rows(data, chosen, features, zero_based)
        try:
            eta = fitted.decision_function(rows, missing=missing)
            values, chances = (from_link(fitted.loss, eta, kind, fitted.classes).tolist() for kind in (None, "mean"))
            scores = {} if rows.y is None else _scores(fitted, rows, eta)
        except ValueError as error:
            raise ValueError(f"{data}: {error}") from None
    samples = getattr(rows.X, "samples", None)
    ids = {} if samples is None else {"ids": list(zip(*samples, strict=True))}
    columns = {"prediction": values}
    if fitted.classes is not None:
        columns = {"prediction": list(map(plain_label, values)), "probability": chances}
    if out is not None:
        write_text(out, _as_csv(columns, samples))
    if as_json:
        put_json(
            {
                "response": response,
                **ids,
                "predictions": columns["prediction"],
                **(
                    {"probabilities": chances, "classes": list(map(plain_label, fitted.classes))}
                    if fitted.classes
                    else {}
                ),
                **scores,
                "notices": detail.notices,
            }
        )
        return
    if out is None:
        put(_as_csv(columns, samples))
    about = ", ".join(f"{name} {value:.6g}" for name, value in scores.items() if math.isfinite(value))
    place = f" in {escape(str(out))}" if out is not None else ""
    what = f" of {escape(str(response))}" if response else ""
    of_class = "" if fitted.classes is None else f", probabilities of {escape(str(plain_label(fitted.classes[1])))}"
    line = f"{len(values):,} predictions{what}{of_class}{place}{': ' if about else ''}{about}"
    (detail.aside() if out is None else detail.front()).print(line, soft_wrap=True)


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or a saved path.npz.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page. Default: report.html beside the path.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page. Default: the name of the run.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Write the HTML report of a run again, as far as it is solved.

    For example:

    fwlasso report result --title "Prices, 2026"
    """
    path = load_path(run)
    folder = run if run.is_dir() else run.parent
    file = folder / REPORT if out is None else out
    write_report(path, file, title or f"Lasso path: {run}", load_choice(run, path))
    Detail(quiet=quiet).front().print(f"written: {escape(str(file))}", soft_wrap=True)


def _as_csv(columns: dict[str, list[Any]], samples: Samples | None) -> str:
    known = columns if samples is None else dict(zip(("FID", "IID"), samples, strict=True)) | columns
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([list(known), *zip(*known.values(), strict=True)])
    return text.getvalue()


def _scores(model: LinearModel, rows: Table, eta: Vector) -> dict[str, float]:
    """Return how good predictions are of the rows with a response, in the mean of their weights.

    Probabilities are judged by AUC, log loss and accuracy, too.
    """
    known, given = ~np.isnan(rows.y), rows.sample_weight
    weights = None if given is None else as_weights(given, known.size)
    weights = None if weights is None else weights[known]
    if not (known if weights is None else weights).any():
        return {}
    eta = eta[known]
    y, predicted = encoded(model.loss, rows.y[known], model.classes, eta.size), eta[:, np.newaxis]
    if model.loss == "squared":
        r2, error = r2_scores(predicted, y, weights)[0], squared_errors(predicted, y, weights)[0]
        return {"r2": float(r2), "rmse": math.sqrt(error)}
    deviance = float(mean_deviances(model.loss, predicted, y, weights)[0])
    scores = {"d2": float(explained_shares(model.loss, predicted, y, weights)[0]), "deviance": deviance}
    if model.loss == "cox":
        return scores | {"concordance": concordance(y, eta, weights)}
    if model.classes is None:
        return scores
    from sklearn.metrics import roc_auc_score

    auc = float(roc_auc_score(y, eta, sample_weight=weights)) if 0.0 < y.mean() < 1.0 else math.nan
    accuracy = float(np.average((eta > 0.0) == y, weights=weights))
    return scores | {"auc": auc, "log_loss": 0.5 * deviance, "accuracy": accuracy}


def load_path(source: Path) -> LassoPath:
    """Read the path of a run, or a saved one."""
    file = source / PATH if source.is_dir() else source
    if not file.is_file() and source.is_dir() and (run := read_checkpoint(source)) is not None:
        state = "complete" if run.is_complete else "not finished"
        raise FileNotFoundError(
            f"{source}: the run in it is {state}, and has no {PATH} yet: resume it first, by the same command with "
            f"--resume or, if lasso_path(checkpoint=...) or lasso_cv started it, by the same call in Python; "
            "write_report and save take its result"
        )
    if not file.is_file():
        raise FileNotFoundError(f"{source}: no such run, or nothing is solved in it yet: there is no {file.name}")
    return LassoPath.load(file)


def load_model(source: Path, point: int | None, alpha: float | None) -> LinearModel:
    """Read a model: of a path the one at a point, from 1, or at an alpha; of a run by default the chosen one."""
    if point is not None and alpha is not None:
        raise ValueError("give --point or --alpha, not both")
    if not source.exists():
        raise FileNotFoundError(f"{source}: no such model")
    suffix = source.suffix.lower()
    wanted = point is not None or alpha is not None
    if source.is_dir() or suffix == ".npz":
        if not wanted and (source / MODEL).is_file():
            return LinearModel.load(source / MODEL)
        return _on_path(load_path(source), source, point, alpha)
    if suffix != ".json":
        raise ValueError(f"{source}: {_ELSEWHERE.get(suffix, 'a model is a run, or ends in .json or .npz')}")
    if wanted:
        raise ValueError(f"--point and --alpha choose a model on a path, and {source} holds one model")
    return LinearModel.load(source)


def _on_path(path: LassoPath, source: Path, point: int | None, alpha: float | None) -> LinearModel:
    if alpha is not None:
        return LinearModel.from_path(path, alpha=alpha)
    if point is None:
        raise ValueError(f"{source} holds a path of {len(path)} models, and none was chosen: give --point or --alpha")
    if not 1 <= point <= len(path):
        raise ValueError(f"--point must be from 1 to {len(path)}, got {point}")
    return LinearModel.from_path(path, point - 1)
