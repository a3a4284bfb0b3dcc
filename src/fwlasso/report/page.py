"""One self-contained HTML page about a path: what it is, its charts, its models, and how to compute it again."""

from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from ..data.compressed import write_text
from ..data.labels import plain_label
from ..data.links import RATIOS, ratios_of
from ..data.terms import name_of_norm
from ..result import LassoPath
from ..selection.choice import Choice, path_and_choice
from ..status import Status
from .call import call_text
from .data import Model, home_model, page_data, score_name, share_name
from .pictures import pictures_html
from .terms import null_in_words, terms_in_words
from .traces import ever_active, labels_of

if TYPE_CHECKING:
    from ..estimators import LassoCV
    from ..selection.cross_validation import CrossValidation

# One script after the other in one module, each in need only of those before it.
_SCRIPTS = ("numbers.js", "view.js", "chart.js", "charts.js", "tables.js", "page.js")

# Of coefficients in tables; the download has all of them.
_DIGITS = 6


def write_report(
    path: "LassoPath | CrossValidation | LassoCV",
    file: str | Path,
    title: str = "Lasso path",
    choice: "Choice | CrossValidation | LassoCV | None" = None,
) -> None:
    """Write a page about `path` to `file`; it needs no network to be read.

    The page has charts of the coefficients, the errors, the active features and the gaps, a slider along the points,
    and tables of the model and of the points, which can be read without JavaScript, too. Features that were never
    active are left out, so that a path on millions of features makes a page of a few hundred kilobytes.

    Parameters
    ----------
    path : LassoPath, CrossValidation or fitted LassoCV
        The latter two have a choice, too.
    file : path of the page
    title : str, default="Lasso path"
    choice : Choice, CrossValidation or fitted LassoCV, optional
        The choice of a point of this path. The chosen model is marked in the charts, and its coefficients are in the
        table, and in full precision in its download. Without a choice that is the model of the last point.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fwlasso import lasso_path
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((40, 60)))
    >>> path = lasso_path(X, X[:, 0] - X[:, 1], radii=10, random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     write_report(path, Path(folder, "report.html"))
    ...     "Points" in Path(folder, "report.html").read_text()
    True
    """
    path, choice = path_and_choice(path, choice)
    traces = ever_active(path)
    model = home_model(path, traces, choice)
    page = Template(_asset("page.html")).substitute(
        title=escape(title),
        style=_asset("page.css"),
        norm=name_of_norm(path.terms),
        null=escape(null_in_words(path)[1]),
        lede=escape(_lede(path, choice)),
        facts="".join(_fact(*fact) for fact in _facts(path, model, choice)),
        criterion=escape(
            f"{share_name(path)} on the training data" if choice is None else _heading(score_name(choice))
        ),
        pictures=pictures_html(() if choice is None else choice.pictures),
        model_name="The last point" if choice is None else "The chosen model",
        intercept=f"{model.intercept:.{_DIGITS}g}",
        features="".join(_row(*row) for row in _feature_rows(path, model)),
        share=share_name(path),
        ratio_head=f'<th scope="col">{RATIOS[path.loss]}</th>' if path.loss in RATIOS else "",
        score_head="" if choice is None else f'<th scope="col">{escape(score_name(choice))}</th>',
        points="".join(_row(*row) for row in _scored_rows(path, choice)),
        summary="".join(_row(*row, heads=1) for row in _summary(path, choice).items()),
        call=escape(call_text(path, choice)),
        data=page_data(path, traces, model, choice),
        script="\n".join(_asset(name) for name in _SCRIPTS),
    )
    # Names of files and features may hold bytes that are no text; the page shows that something was there.
    write_text(Path(file), page, errors="xmlcharrefreplace")


def point_names(path: LassoPath) -> tuple[str, ...]:
    """Return what `point_rows` tells of a point; D2 is the share of the deviance that is explained."""
    share = "R2" if path.loss == "squared" else "D2"
    return ("point", "radius", "alpha", "active", share, "gap", "iterations", "status")


def point_rows(path: LassoPath, points: range | list[int], choice: Choice | None = None) -> list[tuple[str, ...]]:
    """Return the rows of the table of points, as text; that of the chosen one tells of the chosen model."""
    known = path.point_columns() if choice is None else choice.point_columns(path)
    return [
        (
            str(k + 1),
            f"{known['radius'][k]:.4g}",
            f"{known['alpha'][k]:.4g}",
            str(known["n_active"][k]),
            f"{known['r2'][k]:.4f}",
            "-" if np.isnan(known["gap"][k]) else f"{known['gap'][k]:.1e}",
            str(known["iterations"][k]),
            known["status"][k],
        )
        for k in points
    ]


def _scored_rows(path: LassoPath, choice: Choice | None) -> list[tuple[str, ...]]:
    """Return the rows of the table of points; behind R2 what a choice rests on, if there is one."""
    rows = point_rows(path, range(len(path)), choice)
    if choice is None:
        return rows
    after = point_names(path).index("gap")
    scores = [f"{score:.4g}" if np.isfinite(score) else "-" for score in choice.scores.tolist()]
    return [(*row[:after], score, *row[after:]) for row, score in zip(rows, scores, strict=True)]


def _feature_rows(path: LassoPath, model: Model) -> list[tuple[str | float, ...]]:
    """Return the features of a model; with a ratio, if the loss has one."""
    ratios = (values.tolist() for values in ratios_of(path.loss, model.coefs).values())
    columns = (model.features.tolist(), model.coefs.tolist(), model.scaled_coefs.tolist(), *ratios)
    return [
        (name, str(feature + (path.first_index or 0)), coef, "-" if np.isnan(scaled) else scaled, *ratio)
        for name, feature, coef, scaled, *ratio in zip(labels_of(path, model.features), *columns, strict=True)
    ]


def _lede(path: LassoPath, choice: Choice | None) -> str:
    """Return the path in a sentence."""
    p, n_points = path.coefs.shape
    models = "1 model" if n_points == 1 else f"{n_points} models"
    response = "" if path.target is None else f"Response: {path.target}. "
    text = f"{response}{models} on {p:,} features, {path.settings['n_samples']:,} samples."
    if path.classes is not None:
        first, second = map(plain_label, path.classes)
        text += f" Classes: {first}, {second}; coefficients are of the odds of {second}."
    if terms := terms_in_words(path):
        text += f" The problem has {'; '.join(terms)}."
    n_certified = path.statuses.count(Status.CERTIFIED)
    if path.gap_tolerance is not None and n_certified:
        subject = "Every model is" if n_certified == n_points else f"{n_certified} of {n_points} are"
        text += (
            f" {subject} certified: it is proved, over all features, that no other coefficients improve the objective"
            f" (fit plus penalty) by more than {100.0 * path.gap_tolerance:.3g} % of {null_in_words(path)[0]}."
        )
    if choice is not None and choice.blend != 1.0:
        text += " The chosen model is a refit of one of them, for which no gap is known."
    return text if path.ending is None else f"{text} {path.ending.sentence}"


def _facts(path: LassoPath, model: Model, choice: Choice | None) -> list[tuple[str, str, str]]:
    """Return what one wants to know first: what it is, a number, and a note on it."""
    k = model.point
    r2, radius = (path.r2[k], path.radii[k]) if choice is None else (choice.r2, choice.radius)
    if choice is None:
        of_model = [("Features at the end", f"{model.features.size:,}", f"alpha {path.alphas[k]:.4g}")]
    else:
        blend = "" if choice.blend == 1.0 else ", refitted"
        error = "" if choice.standard_errors is None else f" ± {float(f'{choice.standard_errors[k]:.2g}'):.4g}"
        rule = f"point {k + 1} of {len(path)}, by {choice.rule}{blend}"
        of_model = [
            ("Features chosen", f"{model.features.size:,}", rule),
            (_heading(score_name(choice)), f"{choice.scores[k]:.4g}{error}", f"alpha {path.alphas[k]:.4g}"),
        ]
    largest = "not computed" if np.isnan(path.gaps).all() else f"{np.nanmax(path.gaps):.1e}"
    cost = f"{path.counters.passes:.1f} passes over the data"
    if path.counters.compile_seconds:
        cost += f"; compiling, once, took another {path.counters.compile_seconds:.3g} s"
    tolerance = path.gap_tolerance
    asked = path.summary_of_statuses() if tolerance is None else f"{path.summary_of_statuses()}; tol {tolerance:g}"
    return [
        *of_model,
        (f"{share_name(path)} on the training data", f"{r2:.3f}", f"{name_of_norm(path.terms)} {radius:.4g}"),
        ("Largest duality gap", largest, asked),
        ("Solving time", f"{path.counters.solving_seconds:.3g} s", cost),
    ]


def _heading(criterion: str) -> str:
    """Return words with a capital letter, but names such as BIC as they are."""
    return criterion[0].upper() + criterion[1:] if " " in criterion else criterion


def _summary(path: LassoPath, choice: Choice | None) -> dict[str, str]:
    p, n_points = path.coefs.shape
    seconds = ", ".join(f"{phase} {value:.3f}" for phase, value in path.counters.seconds.items())
    ending = path.ending.sentence if path.ending else "complete"
    chosen = {} if choice is None else {"choice": f"point {choice.point + 1} by {choice.rule} ({score_name(choice)})"}
    n_drawn = path.settings.get("first_sample")
    return {
        "data": f"{path.settings['n_samples']:,} samples, {p:,} features",
        **({} if path.target is None else {"response": path.target}),
        "solver": str(path.settings.get("solver")),
        **({"problem": "; ".join(terms)} if (terms := terms_in_words(path)) else {}),
        **({} if n_drawn is None else {"columns of the first step": f"{n_drawn:,} of {p:,}"}),
        "path": f"{n_points} points; {ending}",
        **chosen,
        "points": path.summary_of_statuses(),
        "features ever active": f"{np.unique(path.coefs.indices).size:,}",
        "largest gap": "not computed" if np.isnan(path.gaps).all() else f"{np.nanmax(path.gaps):.2e}",
        "iterations": f"{int(path.counters.iterations.sum()):,}",
        "dot products": f"{path.counters.dot_products:,}",
        "passes over the data": f"{path.counters.passes:.1f}",
        "readings": f"{path.counters.readings:.1f} (of all entries, by one residual each)",
        **({} if path.counters.traffic is None else {"cluster": path.counters.traffic.summary()}),
        "seconds": seconds,
        "settings": ", ".join(f"{key}={value}" for key, value in path.settings.items() if value is not None),
    }


def _fact(name: str, value: str, note: str) -> str:
    return f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd><dd class=note>{escape(note)}</dd></div>"


def _row(*cells: str | float, heads: int = 0) -> str:
    """Return a row of a table; its first cells may be heads."""
    head = "".join(f'<th scope="row">{escape(str(cell))}</th>' for cell in cells[:heads])
    return f"<tr>{head}{''.join(_cell(cell) for cell in cells[heads:])}</tr>"


def _cell(cell: str | float) -> str:
    """Return a cell of a table; of a number some digits, and all of them for the scripts and the download."""
    if isinstance(cell, str):
        return f"<td>{escape(cell)}</td>"
    return f'<td data-full="{cell!r}">{cell:.{_DIGITS}g}</td>'


def _asset(name: str) -> str:
    return files("fwlasso.report").joinpath("assets", name).read_text(encoding="utf-8")
