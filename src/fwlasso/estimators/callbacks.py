"""scikit-learn's callbacks, from its version 1.9 on: a fit is a task, and every point of its paths is one within it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Self, TypeVar

from ..monitor import Progress

F = TypeVar("F", bound=Callable[..., Any])


class Watched:
    """An estimator that scikit-learn's callbacks can watch; its mixin is slow to import, and old versions lack it."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set callbacks of scikit-learn (1.9 or newer), such as ``sklearn.callback.ProgressBar()``.

        A fit is a task, and every point of its paths, those of folds included, is one within it. A callback that
        returns True at the end of a point ends the fit with the points that are solved.
        """
        from sklearn.callback import CallbackSupportMixin

        return CallbackSupportMixin.set_callbacks(self, *callbacks)  # type: ignore[no-any-return]


def watched(fit: F) -> F:
    """Decorate `fit`: callbacks are told of it, and its paths of `_tell`."""

    @wraps(fit)
    def told(self: Any, X: Any, y: Any = None, *args: Any, **given: Any) -> Any:
        if not getattr(self, "_skl_callbacks", None):
            return fit(self, X, y, *args, **given)
        from sklearn.callback import CallbackSupportMixin, with_callbacks

        @with_callbacks  # type: ignore[untyped-decorator] # tears them down
        def run(_self: Any) -> Any:
            task = CallbackSupportMixin._init_callback_context(self, max_subtasks=None)
            n_told = 0

            def tell(progress: Progress) -> bool:
                nonlocal n_told
                if task.max_subtasks is None:  # it is known now
                    task.max_subtasks = progress.n_points
                    task.call_on_fit_task_begin(estimator=self, X=X, y=y)
                if not progress.done or n_told == progress.n_points:
                    return False
                n_told += 1
                point = task.subcontext("point")
                point.call_on_fit_task_begin(estimator=self)
                return bool(point.call_on_fit_task_end(estimator=self))

            self._tell = tell
            try:
                fit(self, X, y, *args, **given)
            finally:
                del self._tell
            task.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
            return self

        return run(self)

    return told  # type: ignore[return-value]
