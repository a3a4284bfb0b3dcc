"""R's glmnet, through Rscript. The time is of the call of glmnet() alone, measured in R."""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


class PeerPath(NamedTuple):
    """A path by a peer: its best time, its grid and its coefficients for the columns as given."""

    seconds: float
    alphas: NDArray[np.float64]
    coefs: NDArray[np.float64]


def available() -> bool:
    """Tell whether R with glmnet is installed."""
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", "library(glmnet)"], capture_output=True, check=False).returncode == 0


def path(X: NDArray[np.float64], y: NDArray[np.float64], thresh: float, repeats: int) -> PeerPath:
    """Return glmnet's path of 100 points down to a hundredth of the largest penalty."""
    m, p = X.shape
    with TemporaryDirectory() as folder:
        data, out = Path(folder, "data"), Path(folder, "out")
        with data.open("wb") as stream:
            stream.write(X.tobytes(order="F"))
            stream.write(y.tobytes())
        script = Path(__file__).with_suffix(".R")
        arguments = [str(a) for a in (data, m, p, thresh, repeats, out)]
        subprocess.run(["Rscript", str(script), *arguments], check=True, capture_output=True)
        numbers = np.fromfile(out)
    seconds, n_points, n_nonzeros = numbers[0], int(numbers[1]), int(numbers[2])
    alphas, indptr, indices, values = np.split(numbers[3:], np.cumsum([n_points, n_points + 1, n_nonzeros]))
    beta = sp.csc_array((values, indices.astype(int), indptr.astype(int)), shape=(p, n_points))
    return PeerPath(float(seconds), alphas, beta.toarray())
