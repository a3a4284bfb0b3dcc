"""Texts and gzip files of several members, for the tests of the stream and of the matrix."""

import gzip
import itertools
import random


def some_text(n_rows, seed=0):
    rng = random.Random(seed)
    lines = []
    for _ in range(n_rows):
        indices = sorted(rng.sample(range(1, 60), rng.randint(0, 9)))
        lines.append(" ".join([f"{rng.gauss(0, 1):.3g}", *(f"{j}:{rng.gauss(0, 1):.8g}" for j in indices)]))
    return ("\n".join(lines) + "\n").encode() if lines else b""


def pack(pieces, level, n_zeros):
    """Pack every piece as a member of its own, with zeros behind it."""
    return b"".join(gzip.compress(piece, level, mtime=0) + bytes(n_zeros) for piece in pieces)


def cut_anywhere(data, places):
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[begin:end] for begin, end in itertools.pairwise(edges)]
