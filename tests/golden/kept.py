"""Results in a file, and what differs between two of them."""

import hashlib
from pathlib import Path

import numpy as np

Arrays = dict[str, np.ndarray]


def digest(arrays: Arrays) -> str:
    """Return the SHA-256 of all bits."""
    found = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes())
    return found.hexdigest()


def write(file: str | Path, results: dict[str, Arrays]) -> None:
    """Keep the arrays of all cases, with a checksum for each."""
    sealed = {case: {**arrays, "sha256": np.asarray(digest(arrays))} for case, arrays in results.items()}
    members = {f"{case}|{name}": array for case, arrays in sealed.items() for name, array in arrays.items()}
    np.savez_compressed(file, **members)


def read(file: str | Path) -> dict[str, Arrays]:
    """Return what was written; a ValueError where it is not as it was."""
    found: dict[str, Arrays] = {}
    with np.load(file) as kept:
        for member in kept.files:
            case, name = member.split("|")
            found.setdefault(case, {})[name] = kept[member]
    for case, arrays in found.items():
        if str(arrays.pop("sha256")) != digest(arrays):
            raise ValueError(f"{file}: {case} is not as it was written")
    return found


def difference(old: np.ndarray | None, new: np.ndarray | None) -> float:
    """Return the largest difference relative to the largest number; inf where it is not one of finite floats."""
    if old is None or new is None or (old.dtype, old.shape) != (new.dtype, new.shape):
        return np.inf
    if old.tobytes() == new.tobytes():
        return 0.0
    if old.dtype.kind != "f" or not np.array_equal(np.isfinite(old), np.isfinite(new)):
        return np.inf
    finite = np.isfinite(old)
    if not np.array_equal(old[~finite], new[~finite], equal_nan=True):
        return np.inf
    apart = np.abs(new[finite] - old[finite]).max(initial=0.0) / np.abs(old[finite]).max(initial=1e-300)
    return max(float(apart), 5e-324)  # zeros of another sign differ, though by nothing


def differences(old: dict[str, Arrays], new: dict[str, Arrays]) -> dict[str, dict[str, float]]:
    """Return, for every case of either, which arrays differ and by how much: none where all bits are the same."""
    found = {}
    for case in dict.fromkeys((*old, *new)):
        ours, theirs = new.get(case, {}), old.get(case, {})
        apart = {name: difference(theirs.get(name), ours.get(name)) for name in {**theirs, **ours}}
        found[case] = {name: by for name, by in apart.items() if by > 0.0}
    return found
