"""The figures that the paper has published, as data: E. Frandi and others (2015), section 5.

Its machine was one 3.4 GHz Intel i7. Random methods are means of ten runs. The dot products of FW are kappa times
(iterations + 100): one more sample for every point of the path, and not the z_j'y.
"""

from typing import Final, NamedTuple

#: Runs that published figures of random methods are means of.
N_RUNS: Final = 10
#: Of the glmnet path whose last l1 norm ends the grid of the constrained form.
GRID_TOLERANCE: Final = 1e-8


class Cost(NamedTuple):
    """What a complete path of a hundred points cost, and how sparse it was."""

    seconds: float
    iterations: float
    dot_products: float
    n_active: float  # mean over the points


#: By data set and method, as in `methods.METHODS`.
COSTS: Final[dict[str, dict[str, Cost]]] = {
    "pyrim": {
        "cd": Cost(6.22, 254, 2.08e7, 68.4),
        "scd": Cost(15.9, 144, 2.90e7, 116.6),
        "apg": Cost(5.43, 100, 8.56e7, 3_349),
        "apg-ball": Cost(6.86, 112, 1.29e8, 13_030),
        "sfw-1": Cost(0.228, 277, 7.61e5, 27.6),
        "sfw-2": Cost(0.447, 280, 1.53e6, 28.1),
        "sfw-3": Cost(0.660, 277, 2.28e6, 27.9),
    },
    "triazines": {
        "cd": Cost(27.5, 262, 6.80e7, 150.0),
        "scd": Cost(84.2, 159, 1.01e8, 330.8),
        "apg": Cost(42.7, 101, 2.87e8, 29_104),
        "apg-ball": Cost(59.3, 111, 4.67e8, 130_303),
        "sfw-1": Cost(2.61, 715, 5.18e6, 120.6),
        "sfw-2": Cost(5.31, 729, 1.06e7, 117.5),
        "sfw-3": Cost(8.19, 743, 1.61e7, 118.7),
    },
    "e2006-tfidf": {
        "cd": Cost(9.10, 348, 2.04e7, 149.5),
        "scd": Cost(21.9, 201, 3.03e7, 275.3),
        "apg": Cost(12.4, 106, 5.97e7, 444.8),
        "apg-ball": Cost(22.7, 250, 1.37e8, 724.3),
        "sfw-1": Cost(0.883, 1270, 1.97e6, 123.7),
        "sfw-2": Cost(1.76, 1350, 4.35e6, 125.8),
        "sfw-3": Cost(2.74, 1410, 6.84e6, 127.1),
    },
    "e2006-log1p": {
        "cd": Cost(160.0, 355, 5.73e8, 281.3),
        "scd": Cost(492.0, 199, 8.50e8, 1158.2),
        "apg": Cost(100.0, 111, 1.78e9, 12_806),
        "apg-ball": Cost(142.0, 118, 2.85e9, 54_704),
        "sfw-1": Cost(19.3, 1750, 7.90e7, 196.9),
        "sfw-2": Cost(41.4, 1910, 1.71e8, 199.8),
        "sfw-3": Cost(65.9, 1990, 2.68e8, 203.7),
    },
}

#: Times faster than coordinate descent.
SPEED_UPS: Final[dict[str, dict[str, float]]] = {
    "pyrim": {"sfw-1": 27.3, "sfw-2": 13.9, "sfw-3": 9.4},
    "triazines": {"sfw-1": 10.5, "sfw-2": 5.2, "sfw-3": 3.4},
    "e2006-tfidf": {"sfw-1": 10.3, "sfw-2": 5.2, "sfw-3": 3.3},
    "e2006-log1p": {"sfw-1": 8.3, "sfw-2": 3.9, "sfw-3": 2.4},
}

#: Columns per step on the synthetic problems, by the sparsity rule at 99 %.
SAMPLE_SIZES: Final[dict[str, int]] = {
    "synthetic-10000-32": 372,
    "synthetic-10000-100": 324,
    "synthetic-50000-158": 1616,
    "synthetic-50000-500": 1572,
}

#: Columns per step that are among the 2 % best with a probability of 98 %, whatever p is.
QUANTILE_SIZE: Final = 194

#: Columns per step on the large problems: 1, 2 and 3 % of all.
SHARES: Final[dict[str, tuple[int, int, int]]] = {
    "pyrim": (2_014, 4_028, 6_042),
    "triazines": (6_354, 12_708, 19_062),
    "e2006-tfidf": (1_504, 3_008, 4_511),
    "e2006-log1p": (42_723, 85_445, 128_167),
}
