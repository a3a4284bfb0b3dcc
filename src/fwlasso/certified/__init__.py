"""The certified path: a fully corrective method with an exact, lazy oracle."""

from .copier import NoRoom
from .driver import follow

#: Memory of a path for every column: means, factors, norms, X'y, and the oracle's ratios and ceilings; as measured.
BYTES_PER_COLUMN = 52

__all__ = ["BYTES_PER_COLUMN", "NoRoom", "follow"]
