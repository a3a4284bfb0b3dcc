"""Stand-ins for E2006: matrices of its size, with Zipf's law of column lengths, where the real files are not at hand.

Documents have a place on a circle of topics, and so have words: two words close to each other share documents, which
gives correlated columns. They are made column block by column block from one seed.
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

M = 16_087
_TFIDF = (150_360, 19_971_014)  # columns and nonzeros of E2006-tfidf
_LOG1P = (4_272_227, 96_731_839)  # and of E2006-log1p
_BLOCK = 4_000_000  # nonzeros that are drawn together
_TOPICAL = 0.5  # share of the occurrences of a word that lie around its topic
_WIDTH = 0.08  # of a topic, on a circle of length one
_COMMON = M // 8  # words in more documents than this are drawn document by document

Random = np.random.Generator
Draw = Callable[[Random, int], NDArray[np.float64]]
Data = tuple[sp.csc_array, NDArray[np.float64]]


def tfidf(seed: int = 2006) -> Data:
    """Return X and y of the size of E2006-tfidf: rows of unit norm, rare words weigh more."""
    rng = np.random.default_rng(seed)
    X = _words(rng, *_TFIDF, lambda rng, n: 1.0 + np.log(rng.geometric(0.5, n)))
    X.data *= np.repeat(np.log(M / np.diff(X.indptr)), np.diff(X.indptr))
    norms = np.sqrt(np.bincount(X.indices, weights=X.data**2, minlength=M))
    X.data /= norms[X.indices]
    return X, _response(rng, X, n_relevant=200)


def log1p(seed: int = 2006) -> Data:
    """Return X and y of the size of E2006-log1p: log(1 + count) of words and pairs of words."""
    rng = np.random.default_rng(seed)
    X = _words(rng, *_LOG1P, lambda rng, n: np.log1p(rng.geometric(0.7, n)))
    return X, _response(rng, X, n_relevant=300)


def _words(rng: Random, p: int, nnz: int, draw: Draw) -> sp.csc_array:
    """Return a matrix with about `nnz` nonzeros, columns of Zipf's lengths in random order."""
    lengths = rng.permutation(_zipf_lengths(p, nnz))
    place = rng.random(M)  # of every document on the circle of topics
    order = np.argsort(place).astype(np.int32)
    indptr = np.zeros(p + 1, np.int32)
    indices = []
    cuts = np.searchsorted(np.cumsum(lengths), np.arange(_BLOCK, lengths.sum(), _BLOCK))
    for columns in np.split(np.arange(p), cuts):
        rows, counts = _occurrences(rng, lengths[columns], order)
        indices.append(rows)
        indptr[columns + 1] = counts
    np.cumsum(indptr, out=indptr)
    values = np.concatenate([draw(rng, block.size) for block in indices])
    return sp.csc_array((values, np.concatenate(indices), indptr), shape=(M, p))


def _zipf_lengths(p: int, nnz: int) -> NDArray[np.int64]:
    """Return the lengths c / rank, at least 1 and at most 0.9 m, with c such that they add up to `nnz`."""

    def of(c: float) -> NDArray[np.int64]:
        return np.clip(c / np.arange(1, p + 1), 1, 0.9 * M).astype(np.int64)

    low, high = 0.0, float(nnz)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if of(middle).sum() < nnz else (low, middle)
    return of(high)


def _occurrences(
    rng: Random, lengths: NDArray[np.int64], order: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the documents of every word, sorted, one word after the other, and their numbers."""
    n_words = lengths.size
    topics = rng.random(n_words)
    rare = np.where(lengths <= _COMMON, lengths, 0)
    word = np.repeat(np.arange(n_words), rare)
    place = np.where(
        rng.random(word.size) < _TOPICAL,
        topics[word] + _WIDTH * rng.standard_normal(word.size),
        rng.random(word.size),
    )
    keys = word * M + order[((place % 1.0) * M).astype(np.int64) % M]
    ranks = np.empty(M)
    ranks[order] = np.arange(M) / M
    common = [keys]
    for j in np.flatnonzero(lengths > _COMMON):
        away = np.abs((ranks - topics[j] + 0.5) % 1.0 - 0.5)
        tilted = np.exp(-0.5 * (away / 0.3) ** 2)
        chance = lengths[j] / M * ((1.0 - _TOPICAL) + _TOPICAL * tilted / tilted.mean())
        common.append(j * M + np.flatnonzero(rng.random(M) < chance))
    keys = np.unique(np.concatenate(common))
    return (keys % M).astype(np.int32), np.bincount(keys // M, minlength=n_words).astype(np.int64)


def _response(rng: Random, X: sp.csc_array, n_relevant: int) -> NDArray[np.float64]:
    """Return a sparse linear model of words that are neither rare nor everywhere, plus noise.

    The effects fall with the root of their rank and the noise is 0.3 of the signal. The path of the tf-idf stand-in,
    columns as given, then has 333 active features on average; for the real E2006-tfidf 150 are published.
    """
    lengths = np.diff(X.indptr)
    usable = np.flatnonzero((lengths > M // 200) & (lengths < M // 2))
    relevant = rng.choice(usable, n_relevant, replace=False)
    part = X[:, relevant]
    scale = np.sqrt(part.power(2).sum(axis=0))
    signal = np.asarray(part @ (rng.standard_normal(n_relevant) / np.sqrt(np.arange(1, n_relevant + 1)) / scale))
    return np.asarray(signal + 0.3 * signal.std() * rng.standard_normal(M))
