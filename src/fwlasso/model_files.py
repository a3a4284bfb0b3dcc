"""Models from files of every kind that holds one: a run, JSON, a path, ONNX, or a pickled estimator."""

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .bed import Genotypes
from .choice import Choice
from .columns import Vector
from .datasets.new_rows import Features, NewRows
from .indices import check_indices
from .models import LinearModel
from .result import LassoPath
from .runs import MODEL, PATH, read_run
from .table import Table

_PICKLES = (".joblib", ".pkl", ".pickle")


class Predictor(Protocol):
    """Whatever predicts rows."""

    @property
    def features(self) -> Features:
        """What is known of its features."""

    @property
    def target(self) -> str | None:
        """The name of what it predicts, where it is known."""

    def predict(self, rows: NewRows) -> Vector:
        """Predict the response of every row."""


def load_path(source: Path) -> LassoPath:
    """Read the path of a run, or a saved one."""
    file = source / PATH if source.is_dir() else source
    if not file.is_file() and source.is_dir() and (run := read_run(source)) is not None:
        state = "complete" if run.is_complete else "not finished"
        raise FileNotFoundError(
            f"{source}: the run in it is {state}, and has no {PATH} yet: go on with it first, by the same command with "
            f"--resume or, where lasso_path(checkpoint=...) or lasso_cv began it, by the same call in Python, whose "
            "result write_report and save take"
        )
    if not file.is_file():
        raise FileNotFoundError(f"{source}: no such run, or nothing is solved in it yet: there is no {file.name}")
    return LassoPath.load(file)


def load_predictor(source: Path, point: int | None, alpha: float | None) -> Predictor:
    """Read a model: of a path the one at a point, from 1, or at an alpha; of a run by default the chosen one."""
    if point is not None and alpha is not None:
        raise ValueError("give --point or --alpha, not both")
    if not source.exists():
        raise FileNotFoundError(f"{source}: no such model")
    ending = source.suffix.lower()
    wanted = point is not None or alpha is not None
    if source.is_dir() or ending == ".npz":
        if not wanted and (source / MODEL).is_file():
            return _Linear(LinearModel.load(source / MODEL))
        return _Linear(_on_path(load_path(source), source, point, alpha))
    if ending in _PICKLES:
        return _from_object(_unpickle(source), source, point, alpha)
    if wanted:
        raise ValueError(f"--point and --alpha choose a model on a path, and {source} holds one model")
    if ending == ".json":
        return _Linear(LinearModel.load(source))
    if ending == ".onnx":
        from .onnx_models import OnnxModel

        return _Foreign(OnnxModel(source))
    raise ValueError(f"{source}: a model is a run, or ends in .json, .npz, .onnx, .joblib or .pkl")


class _Linear:
    """One of our models."""

    def __init__(self, model: LinearModel) -> None:
        self._model = model

    @property
    def features(self) -> Features:
        return Features(self._model.n_features, self._model.feature_names, self._model.first_index)

    @property
    def target(self) -> str | None:
        found = self._model.about.get("target")
        return found if isinstance(found, str) else None

    def predict(self, rows: NewRows) -> Vector:
        return self._model.predict(Table(rows.X, np.empty(0), rows.feature_names))


class _Foreign:
    """Anything with a method `predict`."""

    target = None

    def __init__(self, model: Any) -> None:
        self._model = model

    @property
    def features(self) -> Features:
        found = getattr(self._model, "n_features", getattr(self._model, "n_features_in_", None))
        return Features(found if isinstance(found, int) else None)

    def predict(self, rows: NewRows) -> Vector:
        if isinstance(rows.X, Genotypes):
            raise ValueError(
                "genotypes need a model that knows its variants, and models in ONNX or of others know none: "
                "predict with the run, or its model.json"
            )
        check_indices(rows.X)
        return np.asarray(self._model.predict(rows.X), dtype=np.float64).reshape(-1)


def _on_path(path: LassoPath, source: Path, point: int | None, alpha: float | None) -> LinearModel:
    if alpha is not None:
        return LinearModel.from_path(path, alpha=alpha)
    if point is None:
        raise ValueError(f"{source} holds a path of {len(path)} models, and none was chosen: give --point or --alpha")
    if not 1 <= point <= len(path):
        raise ValueError(f"--point must be from 1 to {len(path)}, got {point}")
    return LinearModel.from_path(path, point - 1)


def _unpickle(source: Path) -> Any:
    import joblib

    try:
        return joblib.load(source)
    except Exception as error:  # a pickle can raise anything
        raise ValueError(f"{source}: not an object that can be unpickled here: {error}") from error


def _from_object(found: Any, source: Path, point: int | None, alpha: float | None) -> Predictor:
    from .estimators import Lasso, LassoCV

    if isinstance(found, LassoPath):
        return _Linear(_on_path(found, source, point, alpha))
    if point is not None or alpha is not None:
        raise ValueError(f"--point and --alpha choose a model on a path, and {source} holds one model")
    if isinstance(found, LinearModel):
        return _Linear(found)
    if isinstance(found, Lasso | LassoCV):
        return _Linear(LinearModel.from_estimator(found))
    if isinstance(found, Choice) or not callable(getattr(found, "predict", None)):
        raise ValueError(f"{source} holds a {type(found).__name__}, which does not predict")
    return _Foreign(found)
