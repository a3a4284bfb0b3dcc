"""Parts of the study beyond the paper."""

from ..study import Part

PARTS: list[Part] = []
