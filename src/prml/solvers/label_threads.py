"""What is here: the labels of a low-rank solver shared out over threads, many times a second."""

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from typing import TypeVar

from joblib import cpu_count, effective_n_jobs

from prml.solvers.blas_threads import blas_threads

Result = TypeVar("Result")

# Below so many multiplications in a product of all labels the threads of BLAS cost more than they
# bring: they go on spinning when it is done, on the cores that the labels want.
LARGE_PRODUCT = 1e9


def n_threads(n_jobs: int | None) -> int:
    """The threads that n_jobs asks for: of a cluster behind joblib only this machine's cores."""
    asked = effective_n_jobs(n_jobs)
    return asked if n_jobs is not None and n_jobs > 0 else min(asked, cpu_count())


class LabelThreads:
    """Threads that stay for a whole fit; the calling one is the first of them.

    joblib would start them anew for every round and look for results every 10 ms, a tenth of a
    round of bibtex. They end with the last reference to this object.

    Examples
    --------
    >>> from prml.solvers.label_threads import LabelThreads
    >>> LabelThreads(2).each(lambda i: i * i, range(4))
    [0, 1, 4, 9]
    """

    def __init__(self, n_jobs: int | None):
        self.n_jobs = n_threads(n_jobs)
        self._others: ThreadPoolExecutor | None = None

    def each(self, work: Callable[[int], Result], labels: Iterable[int]) -> list[Result]:
        """The results of `work` for all labels, in their order.

        What is raised in one thread ends the others after the label in hand, and is raised here.
        """
        waiting = deque(enumerate(labels))
        if self.n_jobs == 1 or len(waiting) < 2:
            return [work(i) for _, i in waiting]
        if self._others is None:
            self._others = ThreadPoolExecutor(self.n_jobs - 1, thread_name_prefix="prml-labels")
        results: dict[int, Result] = {}

        def go() -> None:
            try:
                while True:
                    try:
                        place, i = waiting.popleft()  # one label at a time: they differ in cost
                    except IndexError:
                        return
                    results[place] = work(i)
            except BaseException:
                waiting.clear()
                raise

        n_labels = len(waiting)
        with blas_threads(at_most=1):
            others = [self._others.submit(go) for _ in range(min(self.n_jobs, n_labels) - 1)]
            try:
                go()
            finally:
                wait(others)
        for other in others:
            other.result()
        return [results[place] for place in range(n_labels)]

    def between_turns(self, n_labels: int, width: int) -> AbstractContextManager[None]:
        """Limits BLAS to the threads that pay where all labels are coupled."""
        is_large = float(n_labels) ** 2 * width > LARGE_PRODUCT
        return blas_threads(at_most=self.n_jobs if is_large else 1)
