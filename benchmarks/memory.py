"""Peak memory of a path beyond the data itself, in a process of its own."""

import subprocess
import sys

from .measure import Results

_CODE = """
import numpy as np, scipy.sparse as sp, fwlasso
def status(key):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(key))
rng = np.random.default_rng(0)
if {sparse}:
    m, p, per_column = 16_000, 3_800_000, 22
    rows = np.arange(per_column, dtype=np.int32) * (m // per_column)
    indices = rows + rng.integers(0, m // per_column, (p, 1), dtype=np.int32)
    indptr = np.arange(0, p * per_column + 1, per_column, dtype=np.int32)
    X = sp.csc_array((rng.standard_normal(p * per_column), indices.ravel(), indptr), shape=(m, p))
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    del indices
else:
    m, p = 1000, 125_000
    X = rng.standard_normal((p, m)).T
    size = X.nbytes
y = rng.standard_normal(m)
fwlasso.warm_up(solvers=["{solver}"])
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
path = fwlasso.lasso_path(X, y, radii=np.geomspace(0.01, 1, 100), standardize=True, solver="{solver}", random_state=0)
assert path.settings["conversion"] is None
print(size, (status("VmHWM") - before) * 1024 / size)
"""


def run(results: Results) -> None:
    results.section("Memory")
    for solver, most in (("sfw", 0.15), ("certified", 0.25)):
        for name, sparse in (("F-ordered array", False), ("CSC matrix, 22 nonzeros a column", True)):
            code = _CODE.format(sparse=sparse, solver=solver)
            done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
            size, share = map(float, done.stdout.split())
            what = f"{solver}, {name} of {size / 1e9:.2g} GB: peak extra memory of a path"
            results.add(what, 100 * share, "%", f"< {100 * most:g}", share < most)
