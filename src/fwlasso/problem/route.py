"""Which way a certified path is computed: by the Gram matrix of all columns, or by a working set of a few of them."""

# A route is chosen for so many threads, whatever there are: another one has other bits.
_N_THREADS = 2
# Seconds of the parts of a path, as measured on two cores of 2026 with vectors of 512 bits; ratios are what counts.
_SYRK_FLOPS = 6e10  # multiply-adds per second and thread of a product X'X, dense
_SPARSE_FLOPS = 2.4e8  # multiply-adds per second of outer products of sparse rows
_COPY_BYTES = 1e10  # bytes per second and thread of numbers that are converted before they are multiplied
_PASS_ENTRIES = 1.9e9  # entries per second and thread of a pass over the columns
_N_PASSES = 14.0  # of a path by a working set
_ROUND_FLOPS, _FACTOR_FLOPS = 2e9, 2e10  # of products with the Gram matrix, and of its factor
_COLUMN_SECONDS = 8e-11  # by a working set, for every sample and pair of active columns
_PER_NONZERO = 2.0  # samples that a nonzero of a sparse column stands for there
# Rounds of a path on the Gram matrix, and how much more a working set does, if gaps are this small.
_SMALL_GAP, _ROUNDS, _TIMES = 1e-5, (35.0, 70.0), (1.0, 4.5)
# Of the columns, so many are expected to be active in a single model, or where the end of a grid is not known; a single
# model is found in so many rounds. At the end of a grid, eps lambda_max, half of all are where eps is this small.
_ACTIVE, _ROUNDS_OF_ONE, _EPS_OF_HALF = 0.25, 5.0, 1e-2
# Up to so many columns the Gram matrix costs less than the passes, or nearly so, whatever is active.
_ALWAYS = 1100
#: The share of the memory that Gram matrices may take.
MEMORY_SHARE = 0.25

GRAM, WORKING_SET, POINTWISE = "gram", "working-set", "pointwise"


def choose_route(
    m: int,
    p: int,
    n_stored: int,
    n_points: int,
    tol: float,
    *,
    eps: float | None,
    is_float64: bool,
    memory: int,
    n_folds: int = 1,
) -> tuple[str, dict[str, float]]:
    """Return the way to compute a certified path, and the seconds that each was expected to take.

    It is chosen by the size of the problem, the end of its grid and the memory alone.

    `n_stored` numbers are m p, or the nonzero ones; penalties end with `eps` of the largest, if that is known;
    `is_float64`: numbers can be multiplied as they are; `memory` is in bytes; each of `n_folds` parts of the samples
    has a Gram matrix.
    """
    n_threads = _N_THREADS
    is_sparse = n_stored < m * p
    is_tight = tol < _SMALL_GAP
    n_active = (_ACTIVE if eps is None or n_points == 1 else _EPS_OF_HALF / (_EPS_OF_HALF + eps)) * min(m, p)
    in_row = n_stored / max(m, 1)
    if is_sparse:
        products = min(m * in_row**2 / 2 / _SPARSE_FLOPS, m * p * p / (_SYRK_FLOPS * n_threads))
    else:
        products = m * p * p / (_SYRK_FLOPS * n_threads) + (0 if is_float64 else 8 * m * p / (_COPY_BYTES * n_threads))
    n_rounds = _ROUNDS[is_tight] if n_points > 1 else _ROUNDS_OF_ONE
    on_gram = products + n_rounds * n_active * (n_active + p) / _ROUND_FLOPS + n_active**3 / _FACTOR_FLOPS
    passes = (_N_PASSES if n_points > 1 else 3.0) * n_stored / (_PASS_ENTRIES * n_threads)
    on_columns = passes + _TIMES[is_tight] * _COLUMN_SECONDS * min(m, _PER_NONZERO * in_row * m / p) * n_active**2
    fits = m >= p and gram_bytes(p, n_threads, n_folds) <= MEMORY_SHARE * memory
    name = GRAM if fits and (p <= _ALWAYS or on_gram <= on_columns) else WORKING_SET
    return name, {GRAM: on_gram, WORKING_SET: on_columns}


def n_threads_of_sums(p: int, memory: int) -> int:
    """Return how many threads may have products of p columns of their own: as many as have room, two at least."""
    return max(_N_THREADS, int(MEMORY_SHARE * memory) // (8 * (p + 2) ** 2))


def gram_bytes(p: int, n_threads: int, n_folds: int = 1) -> int:
    """Return how many bytes a path on the Gram matrix takes at most.

    Every thread has the products of its block of rows; every fold has its sums; and there are the moments and a factor.
    Blocks of rows are small beside them, or data are.
    """
    return 8 * (p + 2) ** 2 * (n_threads + n_folds + 2) + (n_threads << 13) * (p + 2)
