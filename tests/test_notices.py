"""Two modules speak, and nothing else (of `print` ruff knows); what they warn of is told on the user's line."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import fwlasso
from fwlasso import Lasso, lasso_cv, lasso_path

SPEECH = re.compile(r"warnings\.warn\b|typer\.echo|Console\(|(import|from) logging|sys\.std(out|err)")


def test_nothing_else_warns_logs_or_writes():
    home = Path(fwlasso.__file__).parent
    speakers = {str(f.relative_to(home)) for f in home.rglob("*.py") if SPEECH.search(f.read_text(encoding="utf-8"))}
    assert speakers == {"_core/notices.py", "cli/show.py"}


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: lasso_path(X, y, tol=1e-12, max_iter=1, alphas=2),
        lambda X, y: lasso_cv(X, y, tol=1e-12, max_iter=1, alphas=2, cv=2),
        lambda X, y: Lasso(alpha=0.01, tol=1e-12, max_iter=1).fit(X, y),
    ],
)
def test_warning_is_told_on_the_line_of_the_user(call):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 40)), rng.standard_normal(20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(X, y)
    assert any("did not meet" in str(warning.message) for warning in caught)
    assert {warning.filename for warning in caught} == {__file__}
