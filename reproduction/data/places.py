"""Where data files lie: a folder that is given, that of the environment, or one per user."""

import os
from pathlib import Path

#: The folder of the data sets where none is given.
ENVIRONMENT = "FWLASSO_DATA"
_PER_USER = "~/fwlasso_data"
# LIBSVM offers its files bare or packed by bzip2 or xz; people keep them with the ending of the format, too.
_ENDINGS = [ending + packing for packing in ("", ".bz2", ".xz", ".gz") for ending in ("", ".svm", ".libsvm", ".txt")]


def data_folder(folder: str | Path | None = None) -> Path:
    """Return the folder of the data sets: the given one, else that of FWLASSO_DATA, else ~/fwlasso_data.

    Examples
    --------
    >>> data_folder("my-data")
    PosixPath('my-data')
    """
    if folder is not None and not isinstance(folder, str | Path):
        raise ValueError(f"folder must be a path, got {folder!r}")
    chosen = Path(folder or os.environ.get(ENVIRONMENT) or _PER_USER).expanduser()
    if chosen.exists() and not chosen.is_dir():
        origin = "folder" if folder else f"the environment variable {ENVIRONMENT}"
        raise ValueError(f"{origin} must name a folder, but {chosen} is a file")
    return chosen


def find_libsvm(folder: Path, stem: str) -> Path | None:
    """Return the file of a folder that is named `stem`, with or without one of the usual endings, if there is one."""
    return next((file for ending in _ENDINGS if (file := folder / (stem + ending)).is_file()), None)
