"""The paper's baselines, which are solvers of `lasso_path` once they are registered."""

from typing import Final

from fwlasso.solvers.registry import pointwise, register

from .accelerated_gradient import SLEP, AcceleratedGradient
from .mirror_descent import MirrorDescent
from .nearest_point import NearestPoint
from .stochastic_descent import StochasticDescent

_STOPS: Final = ("gap", "change", "paper")

BASELINES: Final = {
    "scd": pointwise(("alphas",), _STOPS, lambda settings: StochasticDescent(settings.seed)),
    "apg": pointwise(("alphas",), _STOPS, lambda _: AcceleratedGradient()),
    "apg-ball": pointwise(("radii",), _STOPS, lambda _: AcceleratedGradient()),
    "slep": pointwise(("alphas",), _STOPS, lambda _: AcceleratedGradient(SLEP)),
    "slep-ball": pointwise(("radii",), _STOPS, lambda _: AcceleratedGradient(SLEP)),
    "sgd": pointwise(("alphas",), _STOPS, lambda settings: MirrorDescent(settings.seed, is_euclidean=True)),
    "smidas": pointwise(("alphas",), _STOPS, lambda settings: MirrorDescent(settings.seed, is_euclidean=False)),
    "wolfe": pointwise(("radii",), _STOPS, lambda _: NearestPoint()),
}


def register_baselines() -> None:
    """Let `lasso_path` know them by their names."""
    for name, entry in BASELINES.items():
        register(name, entry)
