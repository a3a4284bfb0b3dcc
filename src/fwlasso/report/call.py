"""The call that made a path, and the model that was chosen on it, as Python text."""

import ast
from typing import Any

import numpy as np

from ..options import SPECS, draws_columns
from ..result import LassoPath
from ..selection.choice import Choice

# Options that no path needs to be computed again: the end of a given grid, and how long it may take.
_NOT_NEEDED = {"eps", "time_limit"}
_OF_COLUMNS = {"lower", "upper", "penalty_factor", "unpenalized"}


def call_text(path: LassoPath, choice: Choice | None = None) -> str:
    """Return a program that computes `path` again from its X, y and what is beside them, and the chosen model.

    An automatic grid is asked for as it was, even if the path was ended early: its points depend on those after
    them. One that was solved in segments is solved in segments again, by a checkpoint in a new folder: with the same
    random draws, and the same numbers but for rounding. A comment says so if the draws cannot be made again.
    """
    settings = path.settings
    is_drawing = draws_columns(settings)
    names = (name for name, spec in SPECS.items() if (is_drawing if spec.is_drawing else spec.is_recorded))
    wanted = (name for name in names if settings.get(name) not in (None, "default") and name not in _NOT_NEEDED)
    known = {name: settings[name] for name in wanted}
    rule = known.pop("sample_size", None)
    grid = settings.get("grid", "alphas")
    arguments = [f"{name}={_text_of(name, value)}" for name, value in known.items()]
    given = {"sample_weight": settings.get("is_weighted"), "offset": settings.get("has_offset")}
    arguments += [f"{name}={name}" for name, is_given in given.items() if is_given]
    modules = []
    if settings.get("points") is not None:
        arguments = [f"{grid}={settings['points']}", f"eps={settings['eps']!r}", *arguments]
    else:
        values = _grid_text(path.alphas if grid == "alphas" else path.radii)
        arguments.insert(0, f"{grid}={values}")
        modules = ["numpy as np"] if values.startswith("np.") else []
    if settings.get("in_segments"):
        arguments.append("checkpoint=tempfile.mkdtemp()")
        modules.append("tempfile")
    point = len(path) - 1 if choice is None else choice.point
    call = "path = lasso_path"
    model = f"model = LinearModel.from_path(path, point={point})"
    if choice is not None and choice.blend != 1.0:  # no fold is needed to make this choice once more
        held_out = "(X, y, None, offset)" if settings.get("has_offset") else "(X, y)"
        how = f"relax=[{choice.blend!r}]", f"rule=lambda path, scores: {point}", f"validation={held_out}"
        arguments = [*how, *arguments]
        call = "found = lasso_cv"
        model = "path, model = found.path, LinearModel.from_choice(found.choice, path=found.path)"
    imported = ["LinearModel", call.rpartition(" ")[2]]
    if rule is not None and _is_call(rule):  # a function of the user's has no text
        arguments.append(f"sample_size={rule}")
        imported.insert(0, rule.partition("(")[0])
    imports = "".join(f"import {name}\n" for name in modules) + f"from fwlasso import {', '.join(imported)}\n"
    if is_drawing and "random_state" not in known:
        imports += "\n# The columns were drawn without a seed: other draws give other numbers."
    lines = "".join(f"    {argument},\n" for argument in ("X", "y", *arguments))
    return f"{imports}\n{call}(\n{lines})\n{model}"


def _text_of(name: str, value: Any) -> str:
    """Return an argument as text; terms of columns are texts already, long ones a variable as X is."""
    if name not in _OF_COLUMNS or not isinstance(value, str):
        return repr(value)
    return name if value.startswith("<") else value


def _grid_text(grid: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    """Return a logarithmic grid by its ends, any other by its values."""
    first, last = float(grid[0]), float(grid[-1])
    if grid.size > 2 and min(first, last) > 0.0 and np.array_equal(grid, np.geomspace(first, last, grid.size)):
        return f"np.geomspace({first!r}, {last!r}, {grid.size})"
    return repr(grid.tolist())


def _is_call(text: str) -> bool:
    """Tell whether a text is a call such as ``FixedSize(n=7)``, and not ``<function ...>``."""
    try:
        return isinstance(ast.parse(text, mode="eval").body, ast.Call)
    except SyntaxError:
        return False
