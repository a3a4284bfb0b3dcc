"""Genotypes with covariates beside them: one matrix for users, two storages for solvers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.beside import Beside
from .._core.columns import Vector, read_only
from .._core.dense import Dense
from .design import Design, as_matrix
from .frames import first_of
from .genotypes import Genotypes, Samples, Variant, Variants


class Cohort:
    """Genotypes and covariates of the same samples: a matrix of the covariates, and behind them the variants.

    Paths have no penalty on the covariates, such as age, sex and principal components: they are in every model. The
    genotypes stay packed. A model finds covariates by their names in the cohort that it predicts, and variants as
    `Genotypes` tell. ``X[rows]`` are some of the samples.

    Parameters
    ----------
    genotypes : Genotypes
    covariates : array of shape (n_samples, n_covariates)
    names : sequence of str, optional
        Of the covariates; by default COVAR1, COVAR2, ...

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso.bed import Cohort, Genotypes
    >>> genotypes = Genotypes(np.array([[0b11_10_00]], np.uint8), n_samples=3)
    >>> X = Cohort(genotypes, np.array([[30.0], [40.0], [50.0]]), ["age"])
    >>> X.shape, X @ np.array([1.0, 10.0])
    ((3, 2), array([50., 50., 50.]))
    """

    ndim = 2

    def __init__(self, genotypes: Genotypes, covariates: Any, names: Sequence[str] | None = None) -> None:
        values = np.asfortranarray(as_matrix(covariates), dtype=np.float64)
        m, k = map(int, values.shape)
        if m != len(genotypes):
            raise ValueError(f"covariates has {m} rows for {len(genotypes)} samples")
        names = tuple(f"COVAR{j + 1}" for j in range(k)) if names is None else tuple(names)
        if len(names) != k or len(set(names)) < k:
            raise ValueError(f"names must be one for each of the {k} covariates, all of them different: {names!r:.80}")
        known = genotypes.feature_names
        if known is not None and (twice := set(names).intersection(known)):
            raise ValueError(f"{first_of(sorted(twice))} is the name of a covariate and of a variant")
        self.genotypes, self.covariates = genotypes, read_only(values)
        self.shape = m, k + genotypes.shape[1]
        self.covariate_names = names
        self.feature_names = None if known is None else (*names, *known)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        m, p = self.genotypes.shape
        return f"<Cohort: {m:,} samples, {p:,} variants, covariates {first_of(self.covariate_names)}>"

    def __getitem__(self, rows: Any) -> "Cohort":
        """Return some of the samples."""
        return Cohort(self.genotypes[rows], self.covariates[rows], self.covariate_names)

    def __matmul__(self, coefs: Any) -> NDArray[np.float64]:
        """Return the product with an array or a sparse matrix; only variants with a coefficient are read."""
        if coefs.shape[0] != self.shape[1]:
            raise ValueError(f"{self.shape[1]} columns cannot be multiplied with an array of shape {coefs.shape}")
        k = len(self.covariate_names)
        coefs = sp.csr_array(coefs) if sp.issparse(coefs) else coefs
        return np.asarray(self.covariates @ coefs[:k] + self.genotypes @ coefs[k:])

    @property
    def samples(self) -> Samples | None:
        """The identifiers of the samples."""
        return self.genotypes.samples

    @property
    def variants(self) -> Variants | None:
        """What is known of the variants."""
        return self.genotypes.variants

    @property
    def unpenalized(self) -> range:
        """The columns that paths have no penalty on."""
        return range(len(self.covariate_names))

    def as_design(self) -> Design:
        """Return the storage that is solved with."""
        genotypes = self.genotypes.as_design().columns
        return Design(Beside(Dense(self.covariates.T), genotypes), self.feature_names)

    def check_order(self, y: Any) -> None:
        """Raise a ValueError if y is a series that is indexed by the ids of the samples, in another order."""
        self.genotypes.check_order(y)

    def facts_of(self, columns: Sequence[int]) -> dict[int, Variant]:
        """Return what a model keeps of some variants."""
        k = len(self.covariate_names)
        facts = self.genotypes.facts_of([j - k for j in columns if j >= k])
        return {j + k: fact for j, fact in facts.items()}

    def carry_over(
        self,
        coefs: sp.csc_array,
        names: Mapping[int, str] | Sequence[str],
        variants: Mapping[int, Variant],
        *,
        at_means: bool = False,
    ) -> tuple[sp.csc_array, Vector]:
        """Return coefficients for the columns here, and what is to be added to every product with them."""
        used = np.unique(coefs.indices[coefs.data != 0.0]).tolist()
        places = {name: k for k, name in enumerate(self.covariate_names)}
        own = [j for j in used if j not in variants and names[j] in places]
        rest = sp.csr_array(coefs)
        left = sp.csr_array((len(places), coefs.shape[1]))
        if own:
            to = [places[names[j]] for j in own]
            turn = sp.csr_array((np.ones(len(own)), (to, own)), shape=(len(places), coefs.shape[0]))
            left = turn @ rest
            keep = np.ones(coefs.shape[0])
            keep[own] = 0.0
            rest = sp.csr_array(rest.multiply(keep[:, None]))
        rest = sp.csc_array(rest)
        rest.eliminate_zeros()
        right, constants = self.genotypes.carry_over(rest, names, variants, at_means=at_means)
        return sp.csc_array(sp.vstack([left, right])), constants
