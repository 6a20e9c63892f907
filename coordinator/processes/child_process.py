"""Children of the daemon: work that must not be felt by its event loop, and that may die without taking it along.

A child is started from a thread, never from the loop: there, starting one under uvloop stopped the loop for 43 ms at
800 MB of memory, and for less than 2 ms from a thread. It gets the read end of a pipe, its lifeline, whose other end
only the daemon holds: when that closes, because it is told to end or because the daemon was killed, the child goes
(`child_entry.py` watches it). Each child leads a process group of its own, so that whatever it has started itself can
be ended with it.

A child speaks on its stdout and is spoken to on its stdin; what it writes to stderr is kept for the sentence that says
why it failed, up to a bound.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final, TypeVar

import coordinator

LIFELINE_VARIABLE: Final = "COORDINATOR_LIFELINE_FD"
STDERR_KEPT_BYTES: Final = 4096
GRACE_S: Final = 5.0  # between the request to end and SIGKILL

T = TypeVar("T")


class ChildError(Exception):
    """A child failed, was killed, or took too long: one clause that says which."""


class Children:
    """Those of one daemon. `run` may be called from several threads, `close` from any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[subprocess.Popen[bytes], _Lifeline] = {}
        self._closed = False

    def run(
        self, command: Sequence[str], converse: Callable[[IO[bytes], IO[bytes]], T], *, timeout_s: float, name: str
    ) -> T:
        """Run a child as `run_watched` does, with a time limit for all of it."""
        return self.run_watched(
            command, lambda stdin, stdout, _: converse(stdin, stdout), timeout_s=timeout_s, name=name
        )

    def run_watched(
        self,
        command: Sequence[str],
        converse: Callable[[IO[bytes], IO[bytes], Callable[[], None]], T],
        *,
        timeout_s: float,
        name: str,
    ) -> T:
        """Start `command`, talk to it (its stdin, its stdout), wait for its end; returns what `converse` returned.

        The third argument of `converse` is a function that lets the time limit begin anew. Blocks. ChildError if the
        child does not end with 0, or in time, or hangs up in the middle of the conversation. What `converse` raises
        for reasons of its own ends the child.
        """
        import tempfile  # late: a start of the daemon does without it, and without what it brings along

        with tempfile.TemporaryFile() as stderr, _Lifeline() as lifeline:
            process = self._start(command, stderr, lifeline, name)
            late = threading.Event()

            def end_late() -> None:
                late.set()
                self._end(process, lifeline)

            watchdog = _Watchdog(timeout_s, end_late)
            result: T | None = None
            broken: Exception | None = None
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                try:
                    result = converse(process.stdin, process.stdout, watchdog.restart)
                except (OSError, EOFError) as error:  # it hung up: how it ended says more
                    broken = error
                    self._end(process, lifeline)
                with contextlib.suppress(OSError):
                    process.stdin.close()
                _wait(process)
            except BaseException:
                self._end(process, lifeline)
                raise
            finally:
                watchdog.stop()
                code = self._reap(process)
            if late.is_set():
                raise ChildError(f"{name} {watchdog.complaint} {timeout_s:g} s and was killed")
            if code or broken is not None:
                raise ChildError(_account(name, code, stderr))
            return result  # type: ignore[return-value]  # set, since nothing broke

    def _start(
        self, command: Sequence[str], stderr: IO[bytes], lifeline: _Lifeline, name: str
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise ChildError(f"{name} was not started: the daemon stops")
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    pass_fds=(lifeline.read_end,),
                    env=_environment(lifeline.read_end),
                    process_group=0,  # and no session: Linux would weigh it against the daemon, whatever its nice value
                )
            except OSError as error:
                raise ChildError(f"{name} cannot be started ({error})") from None
            self._running[process] = lifeline
            return process

    def _end(self, process: subprocess.Popen[bytes], lifeline: _Lifeline) -> None:
        """Ask it to go, and see to it."""
        lifeline.cut()
        _timer(GRACE_S, lambda: self._kill_group(process))

    def _kill_group(self, process: subprocess.Popen[bytes]) -> None:
        """SIGKILL for the child and what it has started. Not once it was reaped: its number may be another's then."""
        with self._lock:
            if process in self._running:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)

    def _reap(self, process: subprocess.Popen[bytes]) -> int:
        """Nothing of this child is left afterwards, however it ended."""
        _wait(process)
        self._kill_group(process)
        with self._lock:
            self._running.pop(process, None)
            code = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return code

    def close(self) -> None:
        """Start no more, and tell those that run to end. Does not wait; whoever called `run` does."""
        with self._lock:
            self._closed = True
            running = list(self._running.items())
        for process, lifeline in running:
            self._end(process, lifeline)


class _Lifeline:
    """A pipe that says, by being closed, that the daemon is gone or wants its child to go."""

    def __init__(self) -> None:
        self.read_end, self._write_end = os.pipe()
        self._lock = threading.Lock()

    def cut(self) -> None:
        with self._lock:
            if self._write_end >= 0:
                os.close(self._write_end)
                self._write_end = -1

    def __enter__(self) -> _Lifeline:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        os.close(self.read_end)


class _Watchdog:
    """Calls `action` in a thread once `timeout_s` seconds have passed since the start, or since `restart`."""

    def __init__(self, timeout_s: float, action: Callable[[], None]) -> None:
        self._timeout_s = timeout_s
        self._action = action
        self.complaint = "did not end in"
        self._lock = threading.Lock()
        self._deadline = time.monotonic() + timeout_s
        self._timer: threading.Timer | None = _timer(timeout_s, self._look)

    def restart(self) -> None:
        self.complaint = "said nothing for"
        self._deadline = time.monotonic() + self._timeout_s

    def stop(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        with self._lock:
            if self._timer is None:
                return
            left_s = self._deadline - time.monotonic()
            if left_s > 0:
                self._timer = _timer(left_s, self._look)
                return
        self._action()


def _environment(lifeline_fd: int) -> dict[str, str]:
    """The daemon's, with this very package in front of any other that may be installed."""
    root = str(Path(coordinator.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "PYTHONPATH": path, LIFELINE_VARIABLE: str(lifeline_fd)}


def _timer(seconds: float, action: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()
    return timer


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Until it has ended; it stays a zombie, so that its number remains its own."""
    with contextlib.suppress(ChildProcessError):
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


def _account(name: str, code: int, stderr: IO[bytes]) -> str:
    if code < 0:
        return f"{name} was killed by {signal.Signals(-code).name}"
    stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, stderr.tell() - STDERR_KEPT_BYTES))
    lines = stderr.read().decode(errors="replace").strip().splitlines()
    return f"{name} ended with {code}" + (f": {lines[-1][:500]}" if lines else " and did not say why")
