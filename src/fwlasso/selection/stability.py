"""Stability selection: how often every feature is selected on random halves of the samples."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.columns import Vector
from ..data.checks import as_random_state, check, is_count
from ..data.inputs import Data
from ..data.keywords import explain_unknown
from ..options import SPECS, Options, check_seeded
from ..path import solve_context
from ..problems import Mask
from ..result import LassoPath
from ..views import N_CURVES, N_ROWS, curves, small_html
from .together import solve_paths

# Subsamples, whose masks take a byte per sample each.
_MOST = 1_000_000


@dataclass(frozen=True, repr=False, eq=False)
class Stability:
    """How often features are selected along a path.

    Attributes
    ----------
    path : LassoPath
        On all samples; its points are those of the frequencies.
    frequencies : scipy.sparse.csc_array of shape (n_features, n_points)
        The share of the subsamples on whose path the feature is active at this point; zero for features without a
        penalty, which nothing selects.
    n_subsamples : int
    mean_selected : float
        How many features a subsample selects anywhere on its path, on average.
    """

    path: LassoPath
    frequencies: sp.csc_array
    n_subsamples: int
    mean_selected: float

    def __repr__(self) -> str:
        p, n_points = self.frequencies.shape
        return (
            f"<Stability: {n_points} points on {p:,} features, {self.n_subsamples} subsamples that select "
            f"{self.mean_selected:.1f} on average, {self.selected().size:,} features at least 60 % of the time>"
        )

    def _repr_html_(self) -> str:
        largest = self.max_frequencies
        often = np.argsort(-largest, kind="stable")[: np.count_nonzero(largest)]
        names = self.path.feature_names
        rows = [(j if names is None else names[j], float(largest[j])) for j in often[:N_ROWS].tolist()]
        picture = curves(self.path.radii, self.frequencies[often[:N_CURVES]].toarray())
        return small_html(repr(self), ("feature", "largest frequency"), rows, picture)

    @property
    def max_frequencies(self) -> Vector:
        """The largest frequency of every feature along the path."""
        return np.asarray(self.frequencies.max(axis=1).toarray()).ravel()

    def selected(self, threshold: float = 0.6) -> NDArray[np.int64]:
        """Return the features that are selected at least so often at some point, the most frequent first."""
        check("threshold", threshold, 0.0 < threshold <= 1.0, "a number in (0, 1]")
        largest = self.max_frequencies
        found = np.flatnonzero(largest >= threshold - 1e-12)
        return found[np.argsort(-largest[found], kind="stable")]

    def error_bound(self, threshold: float = 0.6) -> float:
        """Return a bound of the expected number of falsely selected features: q^2 / ((2 threshold - 1) p).

        q is `mean_selected`. The bound holds if features that do not matter are exchangeable, and selected no more
        often than at random (Meinshausen and Buehlmann 2010); p counts those with a penalty.
        """
        check("threshold", threshold, 0.5 < threshold <= 1.0, "a number in (0.5, 1]")
        p = self.frequencies.shape[0] - len(self.path.settings.get("unpenalized_columns", ()))
        return float(self.mean_selected**2 / ((2.0 * threshold - 1.0) * p))


@explain_unknown(SPECS)
def stability_selection(
    X: Any,
    y: Any = None,
    *,
    n_subsamples: int = 100,
    fraction: float = 0.5,
    sample_weight: Any = None,
    offset: Any = None,
    **path_options: Any,
) -> Stability:
    """Compute paths on random subsamples, and count how often each feature is selected.

    Subsamples are drawn without replacement, in pairs that have no sample in common (Shah and Samworth 2013) if
    `fraction` is at most a half. They are masks over the same X, which is never copied. Samples of weight zero are in
    none of them.

    Parameters
    ----------
    X, y
        As in `lasso_path`.
    n_subsamples : int, default=100
    fraction : float, default=0.5
        Of the samples in every subsample.
    sample_weight, offset
        As in `lasso_path`.
    **path_options
        Those of `lasso_path`. All subsamples follow the grid of the path on all samples.

    Returns
    -------
    Stability

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import stability_selection
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((100, 200)))
    >>> y = X[:, :3] @ [3.0, -3.0, 2.0] + rng.standard_normal(100)
    >>> found = stability_selection(X, y, n_subsamples=20, eps=0.2, random_state=0)
    >>> sorted(found.selected(0.9).tolist())[:3]
    [0, 1, 2]
    """
    options = Options(**path_options)
    check(
        "n_subsamples",
        n_subsamples,
        is_count(n_subsamples) and n_subsamples <= _MOST,
        f"an integer from 1 to {_MOST:,}",
    )
    check("fraction", fraction, isinstance(fraction, float) and 0.0 < fraction < 1.0, "a number in (0, 1)")
    check_seeded(options, "subsamples")
    with solve_context(X, y, options, for_parts=True, sample_weight=sample_weight, offset=offset) as context:
        assert isinstance(context.data, Data)
        weights = np.ones(context.data.shape[0]) if context.data.weights is None else context.data.weights
        masks = _of_classes(context.data, weights > 0.0, n_subsamples, fraction, options.random_state)
        ((path, paths, _),) = solve_paths([context], masks)
    complete = [it for it in paths if len(it) == len(path)] or paths[:1]
    n_points = min(len(it) for it in complete)
    supports = [it.coefs[:, :n_points].astype(np.bool_) for it in complete]
    for support in supports:
        support.data &= ~np.isin(support.indices, context.terms.unpenalized)
        support.eliminate_zeros()
    counts = sum(support.astype(np.float64) for support in supports)
    n_selected = [np.unique(support.indices).size for support in supports]
    return Stability(path, sp.csc_array(counts / len(complete)), len(complete), float(np.mean(n_selected)))


def _of_classes(data: Data, there: Mask, n_subsamples: int, fraction: float, random_state: Any) -> list[Mask]:
    """Return masks of subsamples, with the same share of each class if there are classes."""
    if data.classes is None:
        return _subsamples(there, n_subsamples, fraction, random_state)
    drawn = (
        _subsamples(there & (data.response == label), n_subsamples, fraction, random_state) for label in (0.0, 1.0)
    )
    return [first | second for first, second in zip(*drawn, strict=True)]


def _subsamples(there: Mask, n_subsamples: int, fraction: float, random_state: Any) -> list[Mask]:
    """Return masks of subsamples; one after the other they are of a permutation, until that has no more samples."""
    rows = np.flatnonzero(there)
    size = int(fraction * rows.size)
    check("fraction", fraction, size >= 1, f"large enough for one of {rows.size} samples")
    rng = as_random_state(random_state)
    masks: list[Mask] = []
    left = np.empty(0, np.int64)
    for k in range(n_subsamples):
        if k % 2 == 0 or left.size < size:
            left = rng.permutation(rows.size)
        mask = np.zeros(there.size, np.bool_)
        mask[rows[left[:size]]] = True
        left = left[size:]
        masks.append(mask)
    return masks
