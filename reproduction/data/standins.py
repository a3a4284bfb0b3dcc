"""Stand-ins for E2006: matrices of its size, with Zipf's law of column lengths, where the real files are not at hand.

Documents have a place on a circle of topics, and so have words: two words close to each other share documents, which
gives correlated columns. They are made column block by column block from one seed. Test documents are drawn after
everything else, so that they change nothing of the training part.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fwlasso._core.columns import Vector

_BLOCK = 4_000_000  # nonzeros that are drawn together
_TOPICAL = 0.5  # share of the occurrences of a word that lie around its topic
_WIDTH = 0.08  # of a topic, on a circle of length one
_COMMON = 8  # words in more than one of so many documents are drawn document by document
_MOST = 0.9  # of the documents, for the most common words
_NOISE = 0.3  # of the signal
_SPREAD = 0.6  # standard deviation of the signal

Random = np.random.Generator
Draw = Callable[[Random, int], NDArray[np.float64]]
Integers = NDArray[np.int64]
Occurrences = tuple[NDArray[np.int32], Integers]  # the documents of some words, one word after the other, and numbers


class Size(NamedTuple):
    """Documents for training and for testing, words, and about how many nonzeros the training part has."""

    m: int
    n_test: int
    p: int
    nnz: int


class StandIn(NamedTuple):
    """A training and a test set of one law, both CSC."""

    X: sp.csc_array
    y: Vector
    X_test: sp.csc_array
    y_test: Vector


TFIDF = Size(16_087, 3_308, 150_360, 19_971_014)
LOG1P = Size(16_087, 3_308, 4_272_227, 96_731_839)


def tfidf(size: Size = TFIDF, seed: int = 2006) -> StandIn:
    """Return a stand-in for E2006-tfidf: rows of unit norm, rare words weigh more.

    Words weigh log(m / number of training documents with it), in test documents, too.

    Examples
    --------
    >>> data = tfidf(Size(m=300, n_test=50, p=400, nnz=9_000))
    >>> data.X.shape, data.X_test.shape
    ((300, 400), (50, 400))
    """
    rng = np.random.default_rng(seed)
    words = _Words(rng, size)
    X = words.in_training(_damped_counts)
    weights = np.log(size.m / np.diff(X.indptr))
    _weigh(X, weights)
    model = _Model(rng, X, n_relevant=200)
    y = model.respond(X)
    X_test = words.in_test(_damped_counts)
    _weigh(X_test, weights)
    return StandIn(X, y, X_test, model.respond(X_test))


def log1p(size: Size = LOG1P, seed: int = 2006) -> StandIn:
    """Return a stand-in for E2006-log1p: log(1 + count) of words and pairs of words.

    Examples
    --------
    >>> data = log1p(Size(m=300, n_test=50, p=4_000, nnz=30_000))
    >>> data.X.shape, data.X_test.shape
    ((300, 4000), (50, 4000))
    """
    rng = np.random.default_rng(seed)
    words = _Words(rng, size)
    X = words.in_training(_log1p_counts)
    model = _Model(rng, X, n_relevant=300)
    y = model.respond(X)
    X_test = words.in_test(_log1p_counts)
    return StandIn(X, y, X_test, model.respond(X_test))


def _damped_counts(rng: Random, n: int) -> Vector:
    return np.asarray(1.0 + np.log(rng.geometric(0.5, n)))


def _log1p_counts(rng: Random, n: int) -> Vector:
    return np.asarray(np.log1p(rng.geometric(0.7, n)))


def _weigh(X: sp.csc_array, weights: Vector) -> None:
    """Multiply every column by its weight, then divide every row by its norm, in place."""
    X.data *= np.repeat(weights, np.diff(X.indptr))
    norms = np.sqrt(np.bincount(X.indices, weights=X.data**2, minlength=X.shape[0]))
    norms[norms == 0.0] = 1.0  # a document of nothing but words that are in all documents
    X.data /= norms[X.indices]


class _Words:
    """Words: how many training documents each is meant to be in, and its place on the circle of topics."""

    def __init__(self, rng: Random, size: Size) -> None:
        m, n_test, p, nnz = size
        if min(m, n_test, p) < 1:
            raise ValueError(f"size must have at least one document to train, one to test and one word, got {size}")
        if not p <= nnz <= _MOST * m * p:
            raise ValueError(f"size must have from p to {_MOST} m p nonzeros, got {size}")
        self._rng, self._size = rng, size
        self._lengths = rng.permutation(_zipf_lengths(m, p, nnz))
        self._topics = np.empty(p)

    def in_training(self, draw: Draw) -> sp.csc_array:
        """Return training documents; words that are not common are in as many of them as meant, but for chance hits."""
        rng, m = self._rng, self._size.m

        def blocks(order: NDArray[np.int32]) -> Iterator[Occurrences]:
            for words in self._blocks():
                self._topics[words] = rng.random(words.stop - words.start)
                yield self._occurrences(words, self._lengths[words], order)

        return _assemble(rng, blocks(_documents(rng, m)), m, draw)

    def in_test(self, draw: Draw) -> sp.csc_array:
        """Return test documents of the same law; numbers of documents are Poisson's around their share of the meant."""
        rng, (m, n_test, *_) = self._rng, self._size

        def blocks(order: NDArray[np.int32]) -> Iterator[Occurrences]:
            for words in self._blocks():
                yield self._occurrences(words, rng.poisson(self._lengths[words] * (n_test / m)), order)

        return _assemble(rng, blocks(_documents(rng, n_test)), n_test, draw)

    def _blocks(self) -> Iterator[slice]:
        ends = np.cumsum(self._lengths)
        cuts = [0, *np.searchsorted(ends, np.arange(_BLOCK, ends[-1], _BLOCK)), ends.size]
        yield from map(slice, cuts[:-1], cuts[1:])

    def _occurrences(self, words: slice, n_draws: Integers, order: NDArray[np.int32]) -> Occurrences:
        """Return the documents of a block of words, sorted; `order` has the documents by their places on the circle."""
        rng, n = self._rng, order.size
        topics, lengths = self._topics[words], self._lengths[words]
        is_common = lengths > self._size.m // _COMMON
        word = np.repeat(np.arange(lengths.size), np.where(is_common, 0, n_draws))
        place = np.where(
            rng.random(word.size) < _TOPICAL,
            topics[word] + _WIDTH * rng.standard_normal(word.size),
            rng.random(word.size),
        )
        found = [word * n + order[((place % 1.0) * n).astype(np.int64) % n]]
        ranks = np.empty(n)
        ranks[order] = np.arange(n) / n
        for j in np.flatnonzero(is_common):
            away = np.abs((ranks - topics[j] + 0.5) % 1.0 - 0.5)
            tilted = np.exp(-0.5 * (away / 0.3) ** 2)
            chance = lengths[j] / self._size.m * ((1.0 - _TOPICAL) + _TOPICAL * tilted / tilted.mean())
            found.append(j * n + np.flatnonzero(rng.random(n) < chance))
        keys = np.concatenate(found)
        keys.sort()
        keys = keys[np.diff(keys, prepend=-1) > 0]  # np.unique is 25 times slower here
        return (keys % n).astype(np.int32), np.bincount(keys // n, minlength=lengths.size).astype(np.int64)


def _zipf_lengths(m: int, p: int, nnz: int) -> Integers:
    """Return the lengths c / rank, at least 1 and at most 0.9 m, with c such that they add up to `nnz`."""

    def of(c: float) -> Integers:
        return np.clip(c / np.arange(1, p + 1), 1, _MOST * m).astype(np.int64)

    low, high = 0.0, float(nnz)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if of(middle).sum() < nnz else (low, middle)
    return of(high)


def _documents(rng: Random, n: int) -> NDArray[np.int32]:
    """Return n documents in the order of random places on the circle of topics."""
    return np.argsort(rng.random(n)).astype(np.int32)


def _assemble(rng: Random, blocks: Iterable[Occurrences], n_rows: int, draw: Draw) -> sp.csc_array:
    """Return the matrix of some occurrences, with values drawn when all of them are known."""
    rows, counts = map(list, zip(*blocks, strict=True))
    lengths = np.concatenate(counts)
    indptr = np.zeros(lengths.size + 1, np.int32)
    np.cumsum(lengths, out=indptr[1:])
    ends = np.cumsum([block.size for block in rows])
    indices = np.concatenate(rows)
    rows.clear()  # before the values take their room
    values = np.empty(indices.size)
    for part in np.split(values, ends[:-1]):
        part[:] = draw(rng, part.size)
    return sp.csc_array((values, indices, indptr), shape=(n_rows, lengths.size))


class _Model:
    """A sparse linear model of words that are neither rare nor everywhere, plus noise.

    The effects fall with the root of their rank and the noise is 0.3 of the signal. The path of the tf-idf stand-in,
    columns as given, then has 333 active features on average; for the real E2006-tfidf 150 are published. The spread is
    about that of the real responses, logarithms of volatility: the paper stops by absolute changes.
    """

    def __init__(self, rng: Random, X: sp.csc_array, n_relevant: int) -> None:
        m, lengths = X.shape[0], np.diff(X.indptr)
        usable = np.flatnonzero((lengths > m // 200) & (lengths < m // 2))
        n_relevant = min(n_relevant, usable.size)
        self._rng = rng
        self._relevant = rng.choice(usable, n_relevant, replace=False)
        part = X[:, self._relevant]
        scale = np.sqrt(part.power(2).sum(axis=0))
        self._effects = rng.standard_normal(n_relevant) / np.sqrt(np.arange(1, n_relevant + 1)) / scale
        self._effects *= _SPREAD / ((part @ self._effects).std() or 1.0)  # a small set may have no such words

    def respond(self, X: sp.csc_array) -> Vector:
        signal = X[:, self._relevant] @ self._effects
        return np.asarray(signal + _NOISE * _SPREAD * self._rng.standard_normal(X.shape[0]))
