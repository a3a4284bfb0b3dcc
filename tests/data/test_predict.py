"""Whatever a model is fitted to, it predicts from: every kind of X, by every caller."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from attack.storages import pack
from fwlasso import Lasso, LassoCV, LinearModel, lasso_path
from fwlasso.bed import Genotypes
from fwlasso.datasets import Table, write_store

NAMES = tuple("abcdefgh")
X = np.random.default_rng(0).integers(0, 3, (20, 8)).astype(float)
Y = X @ np.arange(8.0) + 1.0

KINDS = {
    "list": lambda _: X.tolist(),
    "rows": lambda _: X,
    "columns": lambda _: np.asfortranarray(X),
    "float32": lambda _: X.astype(np.float32),
    "csr": lambda _: sp.csr_array(X),
    "csc": lambda _: sp.csc_array(X),
    "coo": lambda _: sp.coo_array(X),
    "pandas": lambda _: pd.DataFrame(X, columns=NAMES),
    "nullable": lambda _: pd.DataFrame(X, columns=NAMES).astype("Int64"),
    "sparse frame": lambda _: pd.DataFrame(X, columns=NAMES).astype(pd.SparseDtype(float, 0.0)),
    "counted": lambda _: pd.DataFrame(X),
    "polars": lambda _: pl.DataFrame(X, schema=list(NAMES)),
    "pyarrow": lambda _: pa.table(dict(zip(NAMES, X.T, strict=True))),
    "table": lambda _: Table(X, Y, NAMES),
    "text rows": lambda _: Table(sp.csc_array(X), Y, first_index=1),
    "genotypes": lambda _: Genotypes(pack(X), 20, NAMES),
    "store": lambda folder: write_store(folder, X, Y, feature_names=NAMES),
    "path": lambda folder: str(write_store(folder, X, Y).folder),
}


@pytest.mark.parametrize("kind", KINDS)
def test_models_predict_from_what_they_are_fitted_to(kind, tmp_path):
    given = KINDS[kind](tmp_path / "store")
    path = lasso_path(given, Y, alphas=5)
    expected = X @ path.coefs.toarray() + path.intercepts
    np.testing.assert_allclose(path.predict(given), expected, rtol=1e-6)
    np.testing.assert_allclose(path.predict(given, -1), expected[:, -1], rtol=1e-6)
    np.testing.assert_allclose(LinearModel.from_path(path, -1).predict(given), expected[:, -1], rtol=1e-6)
    for model in (Lasso(path.alphas[-1]).fit(given, Y), LassoCV(alphas=path.alphas[-1:], cv=2).fit(given, Y)):
        np.testing.assert_allclose(model.predict(given), X @ model.coef_ + model.intercept_, rtol=1e-6)


def test_a_model_with_an_offset_asks_for_that_of_the_rows():
    offset = np.arange(20.0)
    path = lasso_path(X, Y + offset, alphas=5, offset=offset, sample_weight=np.arange(1.0, 21.0))
    expected = X @ path.coefs.toarray() + path.intercepts + offset[:, np.newaxis]
    np.testing.assert_allclose(path.predict(X, offset=offset), expected)
    np.testing.assert_allclose(path.predict(X, 2, offset=offset), expected[:, 2])
    assert path.score(X, Y + offset, point=-1, offset=offset) > 0.9
    model = LinearModel.from_json(path[-1].to_json())
    np.testing.assert_allclose(model.predict(X, offset=offset), expected[:, -1])
    assert model.about["terms"] == {"is_weighted": True, "has_offset": True}
    for fitted in (path, model):
        with pytest.raises(ValueError, match=r"^offset: the model was fitted with an offset: give that of the rows"):
            fitted.predict(X)
        with pytest.raises(ValueError, match="offset must be one number for each of the 20 samples, got 3"):
            fitted.predict(X, offset=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"^offset: the model was fitted without an offset"):
        lasso_path(X, Y, alphas=3).predict(X, offset=offset)
