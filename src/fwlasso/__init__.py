"""Complete Lasso paths on millions of features, with a duality gap over all columns for every point."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__

if TYPE_CHECKING:
    from .estimators import CoxLasso as CoxLasso
    from .estimators import CoxLassoCV as CoxLassoCV
    from .estimators import ElasticNet as ElasticNet
    from .estimators import ElasticNetCV as ElasticNetCV
    from .estimators import Lasso as Lasso
    from .estimators import LassoCV as LassoCV
    from .estimators import LogisticLasso as LogisticLasso
    from .estimators import LogisticLassoCV as LogisticLassoCV
    from .estimators import PoissonLasso as PoissonLasso
    from .estimators import PoissonLassoCV as PoissonLassoCV
    from .estimators.stable import StabilitySelector as StabilitySelector
    from .file_sums import sum_table as sum_table
    from .gram.summed import SummedTable as SummedTable
    from .models import LinearModel as LinearModel
    from .monitor import Progress as Progress
    from .path import lasso_path as lasso_path
    from .problem.points import Counters as Counters
    from .result import LassoPath as LassoPath
    from .selection.adaptive import adaptive_lasso as adaptive_lasso
    from .selection.choice import Choice as Choice
    from .selection.cross_validation import CrossValidation as CrossValidation
    from .selection.cross_validation import lasso_cv as lasso_cv
    from .selection.stability import Stability as Stability
    from .selection.stability import stability_selection as stability_selection
    from .solvers.levels import Confidence as Confidence
    from .solvers.sample_size import AdaptiveRule as AdaptiveRule
    from .solvers.sample_size import FixedSize as FixedSize
    from .solvers.sample_size import FractionOfColumns as FractionOfColumns
    from .solvers.sample_size import QuantileRule as QuantileRule
    from .solvers.sample_size import SparsityRule as SparsityRule
    from .status import Status as Status
    from .warmup import warm_up as warm_up

# Where names are: they are imported when they are asked for, since numba and scikit-learn take seconds.
_HOMES = {
    "estimators": (
        *("ElasticNet", "ElasticNetCV", "Lasso", "LassoCV"),
        *("LogisticLasso", "LogisticLassoCV", "PoissonLasso", "PoissonLassoCV"),
        *("CoxLasso", "CoxLassoCV"),
    ),
    "estimators.stable": ("StabilitySelector",),
    "file_sums": ("sum_table",),
    "gram.summed": ("SummedTable",),
    "models": ("LinearModel",),
    "monitor": ("Progress",),
    "path": ("lasso_path",),
    "problem.points": ("Counters",),
    "result": ("LassoPath",),
    "selection.adaptive": ("adaptive_lasso",),
    "selection.choice": ("Choice",),
    "selection.cross_validation": ("CrossValidation", "lasso_cv"),
    "selection.stability": ("Stability", "stability_selection"),
    "solvers.levels": ("Confidence",),
    "solvers.sample_size": ("AdaptiveRule", "FixedSize", "FractionOfColumns", "QuantileRule", "SparsityRule"),
    "status": ("Status",),
    "warmup": ("warm_up",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Return a name of the package, or one of its modules, which is imported now."""
    home = _HOME_OF.get(name, name)
    if name.startswith("_") or (home == name and find_spec(f"{__name__}.{name}") is None):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".{home}", __name__)
    found = globals()[name] = module if home == name else getattr(module, name)
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
