"""Callbacks that are told how far a reading or a writing is."""

import numpy as np
import pytest
import scipy.sparse as sp

from fwlasso import sum_table
from fwlasso.datasets import convert, dump_libsvm, load_libsvm, verify_store, write_store

X = np.random.default_rng(0).standard_normal((20, 4))


def stop(_step):
    raise StopIteration


@pytest.mark.parametrize(
    "work", ["load_libsvm", "convert", "sum_table csv", "sum_table svm", "write_store", "verify_store"]
)
def test_a_stop_iteration_of_the_users_ends_no_iterator_of_ours(work, tmp_path):
    svm, csv, store = tmp_path / "a.svm", tmp_path / "a.csv", tmp_path / "store"
    dump_libsvm(sp.csr_array(X), X[:, 0], svm)
    csv.write_text("a,b,c,y\n" + "\n".join(",".join(map(str, row)) for row in X.tolist()))
    write_store(store, X, X[:, 0])
    calls = {
        "load_libsvm": lambda: load_libsvm(svm, progress=stop),
        "convert": lambda: convert(svm, tmp_path / "other", progress=stop),
        "sum_table csv": lambda: sum_table(csv, "y", progress=stop),
        "sum_table svm": lambda: sum_table(svm, progress=stop),
        "write_store": lambda: write_store(tmp_path / "other", X, X[:, 0], progress=stop),
        "verify_store": lambda: verify_store(store, progress=stop),
    }
    with pytest.raises(RuntimeError, match=r"^progress raised StopIteration$"):
        calls[work]()
    assert not (tmp_path / "other").exists()
