"""The error with which a command ends, or leaves out one of several things."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class CliError(Exception):
    """A command cannot go on. The message is one sentence that tells the user what to do.

    The exit code is 2 for a wrong call or environment, and 1 if the server answered with an error or may start later.
    """

    def __init__(self, sentence: str, exit_code: int = 2) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


@contextmanager
def noted(problems: list[str]) -> Iterator[None]:
    """Add the sentence of a CliError to `problems`, so that what comes next gets its turn. Exit code 2 ends all."""
    try:
        yield
    except CliError as error:
        if error.exit_code != 1:
            raise
        problems.append(str(error))
