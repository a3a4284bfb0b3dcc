"""What Windows lacks, and how it holds files, played on Linux by `no_posix` in a process of its own."""

import sys

import pytest

from programs import run_program

PROGRAM = """
import no_posix
no_posix.hide()
import sys, numpy as np, fwlasso
from pathlib import Path
from fwlasso.data.files import locked
from fwlasso.datasets import convert, open_store, write_store

folder = Path(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.standard_normal((20, 6))
y = X[:, 0] - X[:, 1]
for turn in range(2):  # the second one replaces
    store = write_store(folder / "a.store", X, y)
    path = fwlasso.lasso_path(store, alphas=5)
    del store
table = folder / "table.csv"
np.savetxt(table, np.column_stack([X, y]), delimiter=",", header="a,b,c,d,e,f,y", comments="")
text = folder / "data.svm"
text.write_text("".join(f"{b} 1:{a[0]} 4:{a[3]}\\n" for a, b in zip(X, y)))
for source in (table, text):
    made = convert(source, folder / f"{source.suffix}.store")
    assert sorted(each.name for each in made.folder.iterdir() if each.is_dir()) == []  # no scratch is left
np.testing.assert_allclose(open_store(folder / ".csv.store").X, X)
run = folder / "run"
stopped = fwlasso.lasso_path(X, y, alphas=5, checkpoint=run, callback=lambda progress: progress.point == 2)
again = fwlasso.lasso_path(X, y, alphas=5, checkpoint=run)
assert stopped.ending and not again.ending
np.testing.assert_allclose(again.coefs.toarray(), path.coefs.toarray(), atol=1e-2)  # as certified
again.save(folder / "path.npz")
again.save(folder / "path.npz")
assert len(fwlasso.LassoPath.load(folder / "path.npz")) == 5
lock = folder / ".run.lock"
with locked(lock, "taken"):
    try:
        with locked(lock, "taken"):
            raise AssertionError("two have the lock")
    except ValueError as error:
        assert str(error) == "taken"
assert not lock.exists()
print(sorted(each.name for each in folder.iterdir() if each.name.startswith(".")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which files are open")
@pytest.mark.long
def test_what_only_posix_systems_have_is_not_needed(tmp_path):
    env = {"PYTHONPATH": ":".join(sys.path), "NUMBA_DISABLE_JIT": 1}
    code = PROGRAM.replace("import no_posix\n", "import warnings; warnings.simplefilter('ignore')\nimport no_posix\n")
    done = run_program(code, tmp_path, **env)
    assert done.stdout.strip() == "['.csv.store', '.svm.store']"
