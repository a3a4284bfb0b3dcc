"""Pictures of a path, by matplotlib."""

from typing import TYPE_CHECKING

import numpy as np

from .result import LassoPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (9.0, 5.0)  # inches
# Okabe and Ito's colours, told apart by colour-blind readers; black is left for text.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
_FAINT = "#9a9a9a"


def plot_coefs(path: LassoPath, *, ax: "Axes | None" = None, n_labels: int = 10) -> "Axes":
    """Draw the coefficients of every feature that was ever active against the l1 norm.

    On a standardised path they are the coefficients of the scaled features, which can be compared with each other.

    Parameters
    ----------
    path : LassoPath
    ax : matplotlib axes, optional
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
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=_SIZE, layout="constrained")
    features = np.unique(path.coefs.indices)
    values = path.scaled_coefs.tocsr()[features].toarray()
    strongest = np.argsort(-np.abs(values).max(axis=1, initial=0.0), kind="stable")[:n_labels]
    for k in np.setdiff1d(np.arange(features.size), strongest):
        ax.plot(path.radii, values[k], color=_FAINT, linewidth=0.7, alpha=0.6, rasterized=True)
    for rank, k in enumerate(strongest):
        feature = int(features[k])
        name = str(feature) if path.feature_names is None else _literal(path.feature_names[feature])
        style = "-" if rank < len(COLOURS) else "--"
        ax.plot(path.radii, values[k], style, color=COLOURS[rank % len(COLOURS)], linewidth=1.8, label=name)
    ax.axhline(0.0, color="black", linewidth=0.6)
    ax.set_xlabel("l1 norm of the coefficients")
    ax.set_ylabel("coefficient of the scaled feature" if path.settings.get("standardize") else "coefficient")
    ax.set_title(f"Lasso path: {len(path)} points, {features.size} of {path.coefs.shape[0]:,} features ever active")
    if len(strongest):
        ax.legend(title="largest", loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)
    return ax


def _literal(name: str) -> str:
    """Return a label that shows `name`: no formula between dollars, and not hidden for a leading underscore."""
    shown = name.replace("$", r"\$")
    return f"\u200b{shown}" if shown.startswith("_") else shown


def draw_coefs(path: LassoPath) -> "Figure":
    """Return the picture of `plot_coefs` as a figure of its own, for files: no window system is touched."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, layout="constrained")
    plot_coefs(path, ax=figure.subplots())
    return figure
