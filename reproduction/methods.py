"""The methods of the comparison: what they are called, and how `lasso_path` is asked for them."""

from typing import Any, Final, Literal, NamedTuple

from fwlasso._core.columns import Vector

from .units import STOPPING, Grids


class Method(NamedTuple):
    """A way to compute the path of a data set, in the paper's units."""

    key: str
    label: str
    grid: Literal["alphas", "radii"]  # the paper's grid of penalties, or of l1 norms
    settings: dict[str, Any]  # arguments of `lasso_path`; none for a peer
    is_random: bool = False
    peer: str | None = None  # the name of a package of `benchmarks.peers`, and its own tolerance in the settings
    sets: tuple[str, ...] | None = None  # those that it is run on; None: all
    every: int = 1  # of so many points of the grid one is solved; the last one is

    def points(self, grids: Grids) -> Vector:
        """Return the points that are solved."""
        values: Vector = getattr(grids, self.grid)
        return values[self.every - 1 :: self.every]


def _fw(share: float, **settings: Any) -> dict[str, Any]:
    return {"solver": "sfw", "sample_size": share, **settings, **STOPPING}


#: Relative duality gap of the certified path.
CERTIFIED_GAP: Final = 1e-6
#: R's glmnet at its own default, a bound of the change of the objective relative to its value at zero.
GLMNET_THRESH: Final = 1e-7

#: Methods that the paper names and leaves out: on one set, since they take long; those over samples on ten points, and
#: with so many epochs for each.
_ON: Final = ("pyrim",)
_FEW: Final[dict[str, Any]] = {"max_iter": 20, **STOPPING}

#: The shares of the columns that a step of FW looks at.
SHARES: Final = (0.01, 0.02, 0.03)

_ALL = (
    Method("cd", "CD", "alphas", {"solver": "cd", **STOPPING}),
    Method("glmnet", "CD, R's glmnet", "alphas", {"tol": GLMNET_THRESH}, peer="glmnet"),
    Method("scd", "SCD", "alphas", {"solver": "scd", **STOPPING}, is_random=True),
    Method("apg", "SLEP reg.", "alphas", {"solver": "slep", **STOPPING}),
    Method("apg-ball", "SLEP const.", "radii", {"solver": "slep-ball", **STOPPING}),
    Method("apg-ours", "APG reg., ours: L kept, restarts", "alphas", {"solver": "apg", **STOPPING}),
    Method("apg-ball-ours", "APG const., ours: L kept, restarts", "radii", {"solver": "apg-ball", **STOPPING}),
    Method("wolfe", "GeoLasso (Wolfe's nearest point)", "radii", {"solver": "wolfe", **STOPPING}, sets=_ON),
    Method("lars", "LARS, scikit-learn's", "alphas", {"tol": 0.0}, peer="lars", sets=_ON),
    Method("sgd", "SGD, every tenth point", "alphas", {"solver": "sgd", **_FEW}, True, sets=_ON, every=10),
    Method("smidas", "SMIDAS, every tenth point", "alphas", {"solver": "smidas", **_FEW}, True, sets=_ON, every=10),
    *(
        Method(f"sfw-{100 * part:g}", f"FW {100 * part:g} %", "radii", _fw(part, variant="paper"), is_random=True)
        for part in SHARES
    ),
    Method("sfw-1-ours", "FW 1 %, ours, single columns", "radii", _fw(0.01, block_size=1), is_random=True),
    Method("sfw-1-blocks", "FW 1 %, ours, blocks of columns", "radii", _fw(0.01), is_random=True),
    Method("fw", "FW, all columns", "radii", {"solver": "fw", "variant": "paper", **STOPPING}),
    Method("certified", "certified path", "alphas", {"solver": "certified", "tol": CERTIFIED_GAP}),
    Method("certified-radii", "certified path, FW's grid", "radii", {"solver": "certified", "tol": CERTIFIED_GAP}),
)
METHODS: Final[dict[str, Method]] = {method.key: method for method in _ALL}
