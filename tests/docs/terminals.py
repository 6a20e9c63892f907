"""Terminals for the commands of a page: a shell that stays, and a program that keeps its terminal.

Both write into files, so that no slow reader blocks them. Each is a session of its own; at the end the whole session is
killed, by its number.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.eventually import eventually

ANSWER_S = 30.0


def _as_on_a_screen() -> None:
    """Reset the signals of the keyboard, which programs ignore whose tests run in the background of a shell."""
    for each in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(each, signal.SIG_DFL)


class Terminal:
    """A shell with job control. Background jobs print into the same file, as on a screen."""

    def __init__(self, directory: Path, environment: Mapping[str, str], screen: Path) -> None:
        self._screen = screen
        self._turn = 0
        with screen.open("wb") as out:
            self._shell = subprocess.Popen(
                ["bash", "--norc", "--noprofile"],
                cwd=directory,
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_as_on_a_screen,
            )
        self.type("set -m")

    @property
    def screen(self) -> str:
        """Return the output so far."""
        return self._screen.read_text(encoding="utf-8", errors="replace")

    @property
    def since_typed(self) -> str:
        """Return the output since the last commands began."""
        return self.screen.rpartition(f"--- {self._turn} begins\n")[2]

    def type(self, text: str) -> str:
        """Run commands and return their output, once the last one has ended."""
        assert self._shell.stdin is not None
        self._turn += 1
        begin, end = f"--- {self._turn} begins", f"--- {self._turn} ends "
        self._shell.stdin.write(f"echo '{begin}'\n{text}\necho '{end}'$?\n".encode())
        self._shell.stdin.flush()
        eventually(lambda: end in self.screen, f"the end of\n{text}\non the screen:\n{self._last()}", within_s=ANSWER_S)
        screen = self.screen
        return screen[screen.index(begin) + len(begin) : screen.index(end)].strip("\n")

    def _last(self) -> str:
        return self.screen[-2000:]

    def close(self) -> None:
        """End the shell and the programs that were started in it."""
        if self._shell.stdin is not None:
            with contextlib.suppress(OSError):
                self._shell.stdin.write(b"kill -9 $(jobs -p) 2>/dev/null; exit\n")
                self._shell.stdin.flush()
                self._shell.stdin.close()
        try:
            self._shell.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._shell.pid, signal.SIGKILL)
            self._shell.wait()


class Foreground:
    """A program that keeps its terminal until it ends."""

    def __init__(self, command: str, directory: Path, environment: Mapping[str, str], screen: Path) -> None:
        self._screen = screen
        with screen.open("wb") as out:
            self._process = subprocess.Popen(
                ["bash", "-c", command],
                cwd=directory,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_as_on_a_screen,
            )

    @property
    def screen(self) -> str:
        """Return the output so far."""
        return self._screen.read_text(encoding="utf-8", errors="replace")

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def says(self, text: str) -> None:
        """Return when the text was printed."""

        def printed() -> bool:
            assert self._process.poll() is None, f"it ended instead of saying {text!r}:\n{self.screen}"
            return text in self.screen

        eventually(printed, f"{text!r} in\n{self.screen[-2000:]}", within_s=ANSWER_S)

    def interrupt(self) -> int:
        """Press Ctrl-C and return the exit code."""
        os.killpg(self._process.pid, signal.SIGINT)
        return self._process.wait(ANSWER_S)

    def quit(self) -> None:
        """Press Ctrl-\\ and return when the program has ended."""
        os.killpg(self._process.pid, signal.SIGQUIT)
        self._process.wait(ANSWER_S)

    def close(self) -> None:
        """Kill the program and the processes that it started."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
