import logging

import numpy as np

from fwlasso import warm_up


def test_warm_up_compiles_for_what_is_asked(caplog):
    with caplog.at_level(logging.ERROR):
        warm_up(sparse=[True], dtypes=[np.float32], solvers=["corrective", "sfw", "cd"])
        warm_up(sparse=[False])
    assert not caplog.records
