"""The errors of an observation. Each message is one sentence that says what to do."""

from __future__ import annotations


class ObserveError(Exception):
    """The observation cannot go on, or cannot begin, until the user has corrected something."""


class ClusterProblem(ObserveError):  # noqa: N818 - a condition that may pass, not a defect
    """The cluster cannot be read at the moment. `may_pass`: it may be possible later without any correction."""

    def __init__(self, sentence: str, *, may_pass: bool = True) -> None:
        super().__init__(sentence)
        self.may_pass = may_pass


class LogRecreatedError(Exception):
    """The observed topic is not the one in the mirror any more. The message is a clause that says why."""
