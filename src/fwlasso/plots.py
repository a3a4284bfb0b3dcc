"""Pictures of a path, by matplotlib: coefficients, errors and gaps along it."""

from typing import TYPE_CHECKING, Literal

import numpy as np

from ._core.columns import Vector
from .data.terms import name_of_norm
from .report.traces import ever_active, names_of
from .result import LassoPath
from .selection.choice import Choice, choice_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .estimators import LassoCV
    from .selection.cross_validation import CrossValidation

#: What a picture is drawn against: the l1 norm, or the penalty on a log scale, both from sparse to dense.
Abscissa = Literal["radius", "alpha"]

_SIZE = (9.0, 5.0)  # inches
# Okabe and Ito's colours, told apart by colour-blind readers; black is left for text.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
_FAINT = "#9a9a9a"
_LONGEST = 28  # signs of a name in a legend


def plot_coefs(path: LassoPath, *, ax: "Axes | None" = None, x: Abscissa = "radius", n_labels: int = 10) -> "Axes":
    """Draw the coefficients of every feature that was ever active.

    On a standardised path they are the coefficients of the scaled features, which can be compared with each other.

    Parameters
    ----------
    path : LassoPath
    ax : matplotlib axes, optional
    x : {"radius", "alpha"}, default="radius"
        Draw against the l1 norm, or against the penalty on a log scale.
    n_labels : int, default=10
        The features with the largest coefficients are drawn in colour and named.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import lasso_path
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((40, 60)))
    >>> path = lasso_path(X, X[:, 0] - X[:, 1], radii=10, random_state=0)
    >>> path.plot().get_xlabel()
    'l1 norm of the coefficients'
    """
    ax, along = _prepare(path, ax, x)
    traces = ever_active(path)
    names = names_of(path, traces.features[:n_labels])
    for values in traces.values[n_labels:]:
        ax.plot(along, values, color=_FAINT, linewidth=0.7, alpha=0.6, rasterized=True)
    for rank, (name, values) in enumerate(zip(names, traces.values, strict=False)):
        style = "-" if rank < len(COLOURS) else "--"
        colour = COLOURS[rank % len(COLOURS)]
        ax.plot(along, values, style, color=colour, linewidth=1.8, label=_literal(_shortened(name)))
    ax.axhline(0.0, color="black", linewidth=0.6)
    ax.set_ylabel("coefficient of the scaled feature" if path.settings.get("standardize") else "coefficient")
    ever = f"{traces.features.size} of {path.coefs.shape[0]:,} features ever active"
    response = "" if path.target is None else f" of {_literal(_shortened(path.target))}"
    ax.set_title(f"Lasso path{response}: {len(path)} points, {ever}")
    if names:
        ax.legend(title="largest", loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)
    return ax


def plot_error(
    path: LassoPath, choice: "Choice | CrossValidation | LassoCV", *, ax: "Axes | None" = None, x: Abscissa = "radius"
) -> "Axes":
    """Draw what a choice rests on: the criterion at every point, its folds, its standard errors, the chosen point.

    Parameters
    ----------
    path : LassoPath
    choice : Choice, CrossValidation or fitted LassoCV
        The choice of one of the points of this path.
    ax : matplotlib axes, optional
    x : {"radius", "alpha"}, default="radius"
        Draw against the l1 norm, or against the penalty on a log scale.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import lasso_path
    >>> from fwlasso import Choice
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((40, 60)))
    >>> path = lasso_path(X, X[:, 0] - X[:, 1], radii=10, random_state=0)
    >>> errors = np.linspace(2.0, 1.0, 10)
    >>> choice = Choice("min", 9, "mean squared error", errors, False, path.coefs[:, [9]], path.intercepts[9])
    >>> path.plot_error(choice).get_ylabel()
    'mean squared error'
    """
    choice = choice_on(path, choice)
    ax, along = _prepare(path, ax, x)
    if choice.fold_scores is not None:
        folds = ax.plot(along, choice.fold_scores, color=_FAINT, linewidth=0.8, alpha=0.8)
        folds[0].set_label("folds")
    if choice.standard_errors is not None:
        low, high = choice.scores - choice.standard_errors, choice.scores + choice.standard_errors
        ax.fill_between(along, low, high, color=COLOURS[0], alpha=0.2, linewidth=0.0, label="standard error")
    ax.plot(along, choice.scores, color=COLOURS[0], linewidth=1.8, label=None if choice.fold_scores is None else "mean")
    if choice.best != choice.point:
        best = f"best: {path.n_active[choice.best]} features"
        ax.plot(along[choice.best], choice.scores[choice.best], "o", color=COLOURS[0], fillstyle="none", label=best)
    chosen = f"chosen by {_literal(choice.rule)}: {choice.coef.count_nonzero()} features"
    ax.axvline(float(along[choice.point]), color=COLOURS[1], linewidth=1.0, linestyle="--")
    ax.plot(along[choice.point], choice.scores[choice.point], "o", color=COLOURS[1], label=chosen)
    ax.set_ylabel(_literal(choice.label))
    ax.legend(fontsize="small", frameon=False)
    return ax


def plot_gap(path: LassoPath, *, ax: "Axes | None" = None, x: Abscissa = "radius") -> "Axes":
    """Draw the relative duality gap of every point on a log scale, with the tolerance if it is one of the gap.

    Points whose gap was not computed, or is zero, are left out.

    Parameters
    ----------
    path : LassoPath
    ax : matplotlib axes, optional
    x : {"radius", "alpha"}, default="radius"
        Draw against the l1 norm, or against the penalty on a log scale.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import lasso_path
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((40, 60)))
    >>> path = lasso_path(X, X[:, 0] - X[:, 1], radii=10, random_state=0)
    >>> path.plot_gap().get_yscale()
    'log'
    """
    ax, along = _prepare(path, ax, x)
    positive = path.gaps > 0.0  # false for NaN
    ax.plot(along[positive], path.gaps[positive], ".-", color=COLOURS[0], linewidth=1.0)
    ax.set_yscale("log")
    if path.gap_tolerance:
        label = f"tolerance {path.gap_tolerance:g}"
        ax.axhline(path.gap_tolerance, color=COLOURS[1], linewidth=1.0, linestyle="--", label=label)
        ax.legend(fontsize="small", frameon=False)
    ax.set_ylabel("relative duality gap")
    return ax


def draw_coefs(path: LassoPath) -> "Figure":
    """Return the picture of `plot_coefs` as a figure of its own, for files: no window system is touched."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, layout="constrained")
    plot_coefs(path, ax=figure.subplots())
    return figure


def _prepare(path: LassoPath, ax: "Axes | None", x: Abscissa) -> "tuple[Axes, Vector]":
    """Return axes, new ones if none are given, with their abscissa named, and its values at the points."""
    if x not in ("radius", "alpha"):
        raise ValueError(f"x must be 'radius' or 'alpha', got {x!r}")
    n_zeros = len(path) - np.count_nonzero(path.alphas > 0.0)  # no place for them on a log scale
    if x == "alpha" and n_zeros == len(path):
        raise ValueError("x: every alpha of this path is 0, which has no logarithm: plot against 'radius'")
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=_SIZE, layout="constrained")
    if x == "radius":
        ax.set_xlabel(f"{name_of_norm(path.terms)} of the coefficients")
        return ax, path.radii
    ax.set_xlabel(f"alpha ({n_zeros} at 0 left out)" if n_zeros else "alpha")
    ax.set_xscale("log")
    ax.xaxis.set_inverted(True)
    return ax, np.where(path.alphas > 0.0, path.alphas, np.nan)


def _shortened(name: str) -> str:
    """Return a name without its middle if it would take the room of the picture."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2 - 1]}\u2026{name[-_LONGEST // 2 :]}"


def _literal(name: str) -> str:
    """Return a label that shows `name`: no formula between dollars, and not hidden for a leading underscore."""
    shown = name.replace("$", r"\$")
    return f"\u200b{shown}" if shown.startswith("_") else shown
