"""What goes beyond the paper: how exact its paths are, what its settings do, and how the methods scale."""

from ..study import Part
from . import ablation, convergence, crossover, effects, elastic_net, gaps, matched, rates, scaling

#: In the order of the results page.
PARTS: list[Part] = [
    convergence.PART,
    gaps.PART,
    matched.PART,
    ablation.PART,
    effects.PART,
    scaling.PART,
    rates.PART,
    crossover.PART,
    elastic_net.PART,
]
