"""Models from files of ours: a run, JSON, or a point of a path."""

from pathlib import Path

from ..checkpoints.folder import MODEL, PATH, read_run
from ..models import LinearModel
from ..result import LassoPath

# What to do in Python with a model of another kind.
_ONNX = "a model in ONNX is for other programs: in Python, onnxruntime.InferenceSession(file).run predicts"
_PICKLE = (
    "a pickle runs any code that is in it, and is not opened here: in Python, joblib.load(file).predict(X) predicts, "
    "and LinearModel.from_estimator(joblib.load(file)).save('model.json') makes a model of a Lasso"
)
_ELSEWHERE = {".onnx": _ONNX, ".joblib": _PICKLE, ".pkl": _PICKLE, ".pickle": _PICKLE}


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


def load_model(source: Path, point: int | None, alpha: float | None) -> LinearModel:
    """Read a model: of a path the one at a point, from 1, or at an alpha; of a run by default the chosen one."""
    if point is not None and alpha is not None:
        raise ValueError("give --point or --alpha, not both")
    if not source.exists():
        raise FileNotFoundError(f"{source}: no such model")
    ending = source.suffix.lower()
    wanted = point is not None or alpha is not None
    if source.is_dir() or ending == ".npz":
        if not wanted and (source / MODEL).is_file():
            return LinearModel.load(source / MODEL)
        return _on_path(load_path(source), source, point, alpha)
    if ending != ".json":
        raise ValueError(f"{source}: {_ELSEWHERE.get(ending, 'a model is a run, or ends in .json or .npz')}")
    if wanted:
        raise ValueError(f"--point and --alpha choose a model on a path, and {source} holds one model")
    return LinearModel.load(source)


def _on_path(path: LassoPath, source: Path, point: int | None, alpha: float | None) -> LinearModel:
    if alpha is not None:
        return LinearModel.from_path(path, alpha=alpha)
    if point is None:
        raise ValueError(f"{source} holds a path of {len(path)} models, and none was chosen: give --point or --alpha")
    if not 1 <= point <= len(path):
        raise ValueError(f"--point must be from 1 to {len(path)}, got {point}")
    return LinearModel.from_path(path, point - 1)
