"""The lazy exact oracle: which columns can matter, told from residuals whose correlations are known.

Anchors are residuals r_k at penalties lambda_k whose correlations with all columns were computed. Of those, a
*ceiling* is kept, max_k |z_j'r_k| / lambda_k for every column j. At a penalty lambda = (1 - t) lambda_1 + t lambda_2
between two anchors any residual r is the mix (1 - t) r_1 + t r_2 plus some e, so that

    |z_j'r| <= (1 - t) |z_j'r_1| + t |z_j'r_2| + ||z_j|| ||e|| <= lambda (ceiling_j + ||z_j|| ||e|| / lambda).

Below the last anchor it is that one plus some e, with |z_j'r_k| <= lambda ceiling_j lambda_k / lambda. One sweep over p
numbers, without touching X, leaves the *survivors*, columns that could exceed lambda; all others are proved not to. The
sweep serves all points at once, with the largest e and the largest lambda_k / lambda among them, the *growth*.

Where bounds leave coefficients on one side of zero, correlations count on that side: the pull is convex, too. Columns
with a ridge exceed lambda where they are active, and survive.

What rounding may add to a dot product, to the mix, e and lambda is less than 4 (m + 8) u mean_ratio ||z_j|| ||r||, see
docs/method/rounding.md: it is added to ||e|| in `Screening.distance`. Ceilings and norms in float32 are rounded up.
"""

from collections.abc import Sequence

import numpy as np

from .._core.columns import Matrix, Vector
from .._core.jit import kernel
from .._core.samples import norm, to_root
from .._core.sweeps import Indices
from ..problem.passes import ColumnPass, Correlated
from .nodes import Node


class Screening:
    """Nodes whose correlations with all columns are known, along a stride, and what they prove."""

    def __init__(self, columns: ColumnPass, zero: Node, n_samples: int) -> None:
        """Start at a = 0, whose correlations the pass knows."""
        self.has_read = False
        self._columns = columns
        self._samples = columns.summary.samples
        # Norms in these units are of moderate size, whatever those of X.
        self._unit = zero.lam / norm(self._samples, zero.residual)
        self._rounding = 4.0 * (n_samples + 8) * 2.0**-53 * columns.begin(zero.lam, self._unit)
        self.anchors = [zero]  # one, if no column was read since the last stride began
        self._last = zero

    def restart(self) -> None:
        """Begin a new stride with the last anchor."""
        self.anchors = [self._last]
        self._columns.restart()

    def correlate(self, nodes: Sequence[Node]) -> Matrix:
        """Make anchors of nodes at decreasing penalties, in one pass over the data; return what bounds each.

        They are all below the anchors so far, or among these: those at the same penalties are forgotten.
        """
        self.has_read = True
        is_below, new = nodes[0].lam < self._last.lam, {node.lam for node in nodes}
        anchors = [*(anchor for anchor in self.anchors if anchor.lam not in new), *nodes]
        self.anchors = sorted(anchors, key=lambda anchor: -anchor.lam)
        if is_below:
            self._last = nodes[-1]
        read = self._columns.correlate if is_below else self._columns.insert
        return read([node.probe for node in nodes])

    def correlate_some(self, columns: Indices, nodes: Sequence[Node]) -> Correlated:
        """Return what some columns say about some nodes."""
        return self._columns.correlate_some(columns, [node.probe for node in nodes])

    def survivors(self, nodes: Sequence[Node]) -> Indices:
        """Return the columns that could have |z_j'r| > lambda at one of these nodes below the first anchor."""
        growth = max(1.0, self.anchors[-1].lam / min(node.lam for node in nodes))
        return self._columns.survivors(growth, float(np.max([self.distance(node) for node in nodes])) * self._unit)

    def violators(self) -> Indices:
        """Return the columns that exceed lambda at an anchor, or nearly so."""
        return self._columns.survivors(1.0, 0.0)

    def distance(self, node: Node) -> float:
        """Return ||e|| / lambda for a node below the first anchor, rounded up."""
        anchors = self.anchors
        right = min((k for k, anchor in enumerate(anchors) if anchor.lam <= node.lam), default=len(anchors) - 1)
        left = right - 1 if anchors[right].lam < node.lam else right
        width = anchors[left].lam - anchors[right].lam
        t = (anchors[left].lam - node.lam) / width if width > 0.0 else 1.0
        first, second, mixed = (to_root(self._samples, it.residual) for it in (anchors[left], anchors[right], node))
        e, r = _distance(first, second, t, mixed)
        return float((e + self._rounding * r) / node.lam * (1.0 + 1e-12))


@kernel
def _distance(left: Vector, right: Vector, t: float, residual: Vector) -> tuple[float, float]:
    """Return ||e|| and the largest of ||r||, ||r_1|| and ||r_2||, bounded by their sum."""
    total = norms = 0.0
    for i in range(residual.size - 1):
        total += (residual[i] - ((1.0 - t) * left[i] + t * right[i])) ** 2
        norms += residual[i] ** 2 + left[i] ** 2 + right[i] ** 2
    return np.sqrt(total), np.sqrt(norms)
