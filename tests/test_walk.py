"""How far it is from a call to its result: functions, modules, kinds of records, and stops on the way to the engine.

Kernels are plain Python for that. A limit that is undercut is lowered; where one is broken, a detour has to go.
"""

import json
from functools import cache

import pytest

from programs import run_program

WALK = """
import importlib, json, os, pkgutil, sys, threading
import numpy as np
import fwlasso
from fwlasso import lasso_path

root, seen, made = os.path.dirname(fwlasso.__file__), {}, set()


def counted(kind, name):
    inside = kind.__new__ if issubclass(kind, tuple) else kind.__init__

    def make(self, *args, **given):
        made.add(name)
        return inside(self, *args, **given)

    setattr(kind, inside.__name__, make)


def called(frame, event, arg):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(root):
        file = os.path.relpath(code.co_filename, root).removesuffix(".py")
        seen[file, code.co_qualname] = True


for each in pkgutil.walk_packages(fwlasso.__path__, "fwlasso."):
    if not each.name.endswith(("__main__", "onnx_models")):
        importlib.import_module(each.name)
for name, module in list(sys.modules.items()):
    for kind in list(vars(module).values()) if name.startswith("fwlasso") else ():
        if isinstance(kind, type) and kind.__module__ == name and not issubclass(kind, BaseException):
            own = ("__new__", "__init__")[not issubclass(kind, tuple)]
            if own in vars(kind):
                counted(kind, f"{name}.{kind.__name__}")

rng = np.random.default_rng(0)
X = np.asfortranarray(rng.standard_normal(tuple(map(int, sys.argv[1:]))))
y = X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(len(X))
made.clear()
sys.setprofile(called)
threading.setprofile(called)
lasso_path(X, y, n_threads=1)
sys.setprofile(None)
print(json.dumps([list(seen), sorted(made)]))
"""
SHAPES = {"wide": (60, 300), "tall": (400, 20)}
# Modules between the call and the engine; a function is a stop there, and so is a class with all of its methods.
BETWEEN = ("path", "problems", "assembly", "solvers/certified")


@cache
def walk(shape):
    (functions, kinds) = json.loads(run_program(WALK, *SHAPES[shape], NUMBA_DISABLE_JIT=1).stdout)
    # What has no name is a part of the function that it stands in; Python 3.12 has it there.
    return [(module, name) for module, name in functions if not name.rpartition(".")[2].startswith("<")], kinds


# Some more or fewer functions may be entered where the rounding of a library differs: they are counted on one machine.
@pytest.mark.parametrize(("shape", "functions", "modules", "kinds"), [("wide", 326, 55, 61), ("tall", 186, 41, 38)])
def test_a_path_goes_through_few_functions_modules_and_kinds_of_records(shape, functions, modules, kinds):
    entered, made = walk(shape)
    assert len(entered) <= functions, entered
    assert len({module for module, _ in entered}) <= modules
    assert len(made) <= kinds, made


@pytest.mark.parametrize("shape", SHAPES)
def test_there_are_few_stops_before_the_engine(shape):
    entered, _ = walk(shape)
    stops = {(module, name.partition(".")[0]) for module, name in entered if module in BETWEEN}
    assert ("path", "lasso_path") in stops
    assert len(stops) <= 12, sorted(stops)
