"""One self-contained HTML page about a path: what it is, a picture, and a table of its points."""

import io
from html import escape
from pathlib import Path

import numpy as np

from .choice import Choice
from .plots import draw_coefs
from .result import LassoPath

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light; --ink: #1b1b1b; --line: #d5d5d5; --soft: #f5f5f3; }}
body {{ font: 16px/1.5 system-ui, sans-serif; color: var(--ink);
  margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }}
h1 {{ font-size: 1.5rem; }} h2 {{ font-size: 1.15rem; margin-top: 2rem; }}
figure {{ margin: 1rem 0; }} figure svg {{ width: 100%; height: auto; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .25rem .75rem; border-bottom: 1px solid var(--line); text-align: right; }}
th:first-child, td:first-child {{ text-align: left; }}
thead th {{ background: var(--soft); position: sticky; top: 0; }}
</style>
</head>
<body>
<h1>{title}</h1>
<h2>Summary</h2>
<div class="scroll"><table><tbody>{summary}</tbody></table></div>
<h2>Coefficients along the path</h2>
<figure>{picture}</figure>
<h2>The largest coefficients of the last point</h2>
<div class="scroll"><table><thead><tr><th>feature</th><th>coefficient</th><th>of the scaled feature</th></tr></thead>
<tbody>{features}</tbody></table></div>
<h2>Points</h2>
<p>The gap bounds how far the objective is above its minimum, relative to 1/2 ||y||&sup2;.</p>
<div class="scroll"><table><thead><tr><th>point</th><th>radius</th><th>alpha</th><th>active</th><th>R&sup2;</th>
<th>gap</th><th>iterations</th><th>status</th></tr></thead><tbody>{points}</tbody></table></div>
</body>
</html>
"""


def write_report(path: LassoPath, file: str | Path, title: str = "Lasso path", choice: Choice | None = None) -> None:
    """Write a page about `path` to `file`; it needs no network to be read.

    A `choice` of a point is not shown yet.

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
    page = _PAGE.format(
        title=escape(title),
        summary="".join(_row(key, value) for key, value in _summary(path).items()),
        picture=_picture(path),
        features="".join(_row(name, f"{a:.6g}", f"{b:.6g}") for name, a, b in largest_coefs(path, point=-1)),
        points="".join(_row(*row) for row in point_rows(path, range(len(path)))),
    )
    Path(file).write_text(page, encoding="utf-8")


def largest_coefs(path: LassoPath, point: int, n_largest: int = 20) -> list[tuple[str, float, float]]:
    """Return name, coefficient and scaled coefficient of the features with the largest ones by modulus."""
    coef = path.coef(point)
    scaled = path.coef(point, scaled=True)
    order = np.argsort(-np.abs(scaled), kind="stable")[: min(n_largest, np.count_nonzero(scaled))].tolist()
    names = path.feature_names or {j: str(j) for j in order}
    return [(names[j], float(coef[j]), float(scaled[j])) for j in order]


def point_rows(path: LassoPath, points: range | list[int]) -> list[tuple[str, ...]]:
    """Return the rows of the table of points, as text."""
    return [
        (
            str(k + 1),
            f"{path.radii[k]:.4g}",
            f"{path.alphas[k]:.4g}",
            str(path.n_active[k]),
            f"{path.r2[k]:.4f}",
            "-" if np.isnan(path.gaps[k]) else f"{path.gaps[k]:.1e}",
            str(path.counters.iterations[k]),
            path.statuses[k].value,
        )
        for k in points
    ]


def _summary(path: LassoPath) -> dict[str, str]:
    p, n_points = path.coefs.shape
    seconds = ", ".join(f"{phase} {value:.3f}" for phase, value in path.counters.seconds.items())
    ending = path.ending.sentence if path.ending else "complete"
    return {
        "data": f"{path.settings['n_samples']:,} samples, {p:,} features",
        "path": f"{n_points} points; {ending}",
        "points": path.summary_of_statuses(),
        "largest gap": "not computed" if np.isnan(path.gaps).all() else f"{np.nanmax(path.gaps):.2e}",
        "iterations": f"{int(path.counters.iterations.sum()):,}",
        "dot products": f"{path.counters.dot_products:,}",
        "passes over the data": f"{path.counters.passes:.1f}",
        "seconds": seconds,
        "settings": ", ".join(f"{key}={value}" for key, value in path.settings.items() if value is not None),
    }


def _row(*cells: str) -> str:
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _picture(path: LassoPath) -> str:
    text = io.StringIO()
    draw_coefs(path).savefig(text, format="svg")
    svg = text.getvalue()
    return svg[svg.index("<svg") :]
