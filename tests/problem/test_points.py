import numpy as np

from fwlasso import Status
from fwlasso.problem.points import Solution, SolvedPoint, joined, solved_path


def test_points_in_order_are_the_parts_of_a_sorted_matrix_without_zeros():
    supports = [([7, 3, 11], [2.0, 1.0, -1.0]), ([], []), ([4, 2], [1.0, 0.0])]
    points = [
        SolvedPoint(
            Solution(np.array(columns, np.int64), np.array(coefs), 1.0, 2.0, k), Status.CERTIFIED, 0.1, k, 5, 6, 7
        )
        for k, (columns, coefs) in enumerate(supports)
    ]
    path = solved_path(points, Status.STOPPED)
    ordered = path.in_order()
    assert ordered.indptr.tolist() == [0, 3, 3, 4]
    assert ordered.columns.tolist() == [3, 7, 11, 4]
    assert ordered.coefs.tolist() == [1.0, 2.0, -1.0, 1.0]
    assert ordered.counts.tolist() == [[0, 5, 6, 7], [1, 5, 6, 7], [2, 5, 6, 7]]
    assert (ordered.ending, path.between(0, 2).statuses) == (Status.STOPPED, (Status.CERTIFIED, Status.CERTIFIED))
    assert [it.tolist() for it in path.support(0)] == [[7, 3, 11], [2.0, 1.0, -1.0]]
    again = joined([path.between(0, 1), path.between(1, 1), path.between(1, 3)], Status.STOPPED)
    assert all(np.array_equal(a, b) for a, b in zip(path, again, strict=True))
