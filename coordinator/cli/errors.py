"""The error with which a command ends."""

from __future__ import annotations


class CliError(Exception):
    """A command cannot go on. The message is one sentence that tells the user what to do.

    The exit code is 2 for a wrong call or environment, and 1 if the server answered with an error or may start later.
    """

    def __init__(self, sentence: str, exit_code: int = 2) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code
