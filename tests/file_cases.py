"""The same numbers in files of every kind."""

import bz2
import gzip

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.io
import scipy.sparse as sp
from pyarrow import parquet
from sklearn.datasets import dump_svmlight_file

from fwlasso.datasets import write_store

M, P = 23, 31
NAMES = tuple(f"f{j}" for j in range(P))
SAMPLES = tuple(f"cell {i}" for i in range(M))


def make_data():
    rng = np.random.default_rng(5)
    X = rng.integers(-8, 9, (M, P)) / 4.0 * (rng.random((M, P)) < 0.5)
    X[0, 0], X[0, -1] = 1.0, 0.25  # LIBSVM text tells the last column by its entries
    return X, np.round(rng.standard_normal(M), 3)


X, Y = make_data()


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def beside(file):
    np.save(file.parent / "y.npy", Y)


def npy(file, order):
    np.save(file, np.asarray(X, order=order))
    beside(file)


def sparse_npz(file, kind):
    sp.save_npz(file, sp.coo_array(X).asformat(kind))
    beside(file)


def svm(file, pack=bytes, **options):
    plain = file.with_name("plain")
    dump_svmlight_file(X, Y, str(plain), **options)
    file.write_bytes(pack(plain.read_bytes()))
    plain.unlink()


def mtx(file, given, pack=bytes):
    plain = file.with_name("plain.mtx")
    scipy.io.mmwrite(plain, given)
    file.write_bytes(pack(plain.read_bytes()))
    plain.unlink()
    beside(file)


def frame():
    return pd.DataFrame(np.column_stack([X, Y]), columns=[*NAMES, "y"])


def h5ad(file, kind):
    """As anndata writes it."""
    with h5py.File(file, "w") as group:
        if kind == "dense":
            group.create_dataset("X", data=X, chunks=(5, 7), compression="gzip")
        else:
            given = sp.coo_array(X).asformat(kind)
            part = group.create_group("X")
            part.attrs["encoding-type"], part.attrs["shape"] = f"{kind}_matrix", np.array(X.shape)
            for name in ("data", "indices", "indptr"):
                part.create_dataset(name, data=getattr(given, name))
        for name, index in (("obs", SAMPLES), ("var", NAMES)):
            part = group.create_group(name)
            part.attrs["_index"] = "names"
            part.create_dataset("names", data=np.array(index, dtype=object), dtype=h5py.string_dtype())
        group["obs"].create_dataset("age", data=Y)
        group["obs"].create_dataset("sort", data=np.array(["a"] * M, dtype=object), dtype=h5py.string_dtype())


FILES = {
    "C.npy": lambda file: npy(file, "C"),
    "F.npy": lambda file: npy(file, "F"),
    "C.npz": lambda file: np.savez_compressed(file, X=X, y=Y),
    "F.npz": lambda file: np.savez(file, X=np.asfortranarray(X), y=Y),
    "csc.npz": lambda file: sparse_npz(file, "csc"),
    "csr.npz": lambda file: sparse_npz(file, "csr"),
    "coo.npz": lambda file: sparse_npz(file, "coo"),
    "dia.npz": lambda file: sparse_npz(file, "dia"),
    "one.svm": lambda file: svm(file, zero_based=False),
    "zero.libsvm": lambda file: svm(file, zero_based=True, comment="a comment", query_id=np.arange(M)),
    "CAPITALS.SVM.GZ": lambda file: svm(file, gzip.compress),
    "packed.txt.bz2": lambda file: svm(file, bz2.compress),
    "text.svmlight": svm,
    "table.csv": lambda file: frame().to_csv(file, index=False),
    "table.tsv": lambda file: frame().to_csv(file, index=False, sep="\t"),
    "packed.csv.xz": lambda file: frame().to_csv(file, index=False),
    "table.parquet": lambda file: parquet.write_table(pa.Table.from_pandas(frame()), file, row_group_size=5),
    "coordinates.mtx": lambda file: mtx(file, sp.coo_array(X)),
    "array.mtx": lambda file: mtx(file, X),
    "packed.mtx.gz": lambda file: mtx(file, sp.csr_array(X), gzip.compress),
    "dense.h5ad": lambda file: h5ad(file, "dense"),
    "csr.h5ad": lambda file: h5ad(file, "csr"),
    "csc.h5ad": lambda file: h5ad(file, "csc"),
    "a store": lambda file: write_store(file, sp.csc_array(X), Y, feature_names=NAMES),
}
NAMED = ("table.csv", "table.tsv", "packed.csv.xz", "table.parquet", "dense.h5ad", "csr.h5ad", "csc.h5ad", "a store")


def target_of(file):
    return "age" if file.suffix == ".h5ad" else None
