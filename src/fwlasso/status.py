"""Every ending has a name and a sentence."""

from collections.abc import Sequence
from enum import Enum


class Status(Enum):
    """How the work on a point of the path ended.

    Examples
    --------
    >>> Status.SETTLED.converged, Status.MAX_ITER.converged
    (True, False)
    >>> print(Status.TIMED_OUT.sentence)
    The time limit was reached: the points solved so far are returned.
    """

    SETTLED = "settled"
    ZERO_STEP = "zero_step"
    CERTIFIED = "certified"
    STALLED = "stalled"
    PRECISION = "precision"
    MAX_ITER = "max_iter"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"
    ALTERED = "altered"
    STOPPED = "stopped"
    MAX_ACTIVE = "max_active"
    NO_ROOM = "no_room"
    LOST = "lost"

    @property
    def sentence(self) -> str:
        """What happened, and what to do about it."""
        return _SENTENCES[self]

    @property
    def converged(self) -> bool:
        """Whether the point met its stopping rule."""
        return self in (Status.SETTLED, Status.ZERO_STEP, Status.CERTIFIED)

    @property
    def ends_path(self) -> bool:
        """Whether the path ends here, with the points solved so far."""
        return self in (Status.TIMED_OUT, Status.INTERRUPTED, Status.STOPPED, Status.LOST)

    @property
    def is_complete(self) -> bool:
        """Whether a path that ended so has all the points that were asked for."""
        return self is Status.MAX_ACTIVE


_SENTENCES = {
    Status.SETTLED: "The last step changed no coefficient by more than the tolerance.",
    Status.ZERO_STEP: (
        "A step of length zero met the rule: no column of its sample brought descent. Others may: see the duality gap."
    ),
    Status.CERTIFIED: "The duality gap over all columns is at most the tolerance.",
    Status.STALLED: (
        "No further progress, although float64 would allow it: increase tol, leave out columns that nearly depend on "
        "others or, for random solvers, increase sample_size."
    ),
    Status.PRECISION: "No smaller duality gap can be proved in float64, most of it is rounding: increase tol.",
    Status.MAX_ITER: "The iteration limit was reached: increase max_iter or tol.",
    Status.TIMED_OUT: "The time limit was reached: the points solved so far are returned.",
    Status.ALTERED: (
        "A file that the data are mapped from was written to meanwhile: nothing is proved of the data as they are."
    ),
    Status.INTERRUPTED: "Interrupted: the points solved so far are returned.",
    Status.MAX_ACTIVE: "The path ends where models have more features than max_active.",
    Status.NO_ROOM: "Larger models have no room in memory: the points solved so far are returned.",
    Status.LOST: (
        "The cluster was lost, its scheduler or all of its workers for a minute: the points solved so far are returned."
    ),
    Status.STOPPED: "The callback asked to stop: the points solved so far are returned.",
}


def unfinished_points(statuses: Sequence[Status], rule: str) -> list[int]:
    """Return the points that did not meet their stopping rule."""
    return [k for k, it in enumerate(statuses) if not (it is Status.CERTIFIED if rule == "gap" else it.converged)]
