"""How a command says that it cannot go on."""

from __future__ import annotations


class CliError(Exception):
    """One sentence for the person at the terminal, which says what to do. The exit code is 2 for a wrong call or
    environment, 1 where the server answered with an error, or may start later."""

    def __init__(self, sentence: str, exit_code: int = 2) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code
