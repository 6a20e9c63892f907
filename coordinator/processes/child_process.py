"""Child processes of the daemon, for work that must not delay its event loop and may crash without ending the daemon.

A child is started from a thread: under uvloop, with 800 MB of memory, a start from the loop blocked it for 43 ms, and
one from a thread for less than 2 ms. The child gets the read end of a pipe, its lifeline; only the daemon holds the
other end. When that end closes, because the child is told to end or the daemon was killed, the child exits
(`child_entry.py` watches it). Each child leads a process group, so that processes which it started end with it.

A child reads orders from its stdin and writes answers to its stdout; when it fails, the error message quotes the end of
its stderr (of the last `STDERR_KEPT_BYTES`).
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
from coordinator.version import is_binary

LIFELINE_VARIABLE: Final = "COORDINATOR_LIFELINE_FD"
STDERR_KEPT_BYTES: Final = 4096
GRACE_S: Final = 5.0  # between the cut of the lifeline and SIGKILL

T = TypeVar("T")


class ChildError(Exception):
    """A child failed, was killed, or took too long; the message is one clause that says which."""


class Children:
    """The children of one daemon. `run` may be called from several threads, `close` from any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[subprocess.Popen[bytes], _Lifeline] = {}
        self._closed = False

    def run(
        self, command: Sequence[str], converse: Callable[[IO[bytes], IO[bytes]], T], *, timeout_s: float, name: str
    ) -> T:
        """Run a child as `run_watched` does, with a time limit for its whole run."""
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
        """Run `command`, call `converse` with its stdin and stdout, and wait for its end. Returns its result.

        The third argument of `converse` is a function that restarts the time limit. Blocks. Raises ChildError if the
        child exits with another code than 0, or not in time, or closes a pipe during the conversation. Any other
        exception of `converse` ends the child and is raised.
        """
        import tempfile  # imported late to keep the start of the daemon short

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
                except (OSError, EOFError) as error:  # it closed a pipe; its exit code says more
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
                raise ChildError(_describe_end(name, code, stderr))
            return result  # type: ignore[return-value]  # set, since no error occurred

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
                    process_group=0,  # not a session: between sessions Linux (autogroup) ignores nice values
                )
            except OSError as error:
                raise ChildError(f"{name} cannot be started ({error})") from None
            self._running[process] = lifeline
            return process

    def _end(self, process: subprocess.Popen[bytes], lifeline: _Lifeline) -> None:
        """Cut the lifeline, and kill the child `GRACE_S` later."""
        lifeline.cut()
        _timer(GRACE_S, lambda: self._kill_group(process))

    def _kill_group(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the process group of the child, unless it was reaped: its number may then belong to another process."""
        with self._lock:
            if process in self._running:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)

    def _reap(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for the child and kill the rest of its process group; returns its exit code."""
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
        """Start no more children, and end those that run. Does not wait for them; the callers of `run` do."""
        with self._lock:
            self._closed = True
            running = list(self._running.items())
        for process, lifeline in running:
            self._end(process, lifeline)


class _Lifeline:
    """A pipe whose closed end tells a child to exit: the daemon wants it to, or is gone."""

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
    """Return the environment of the daemon, with the running package first on PYTHONPATH."""
    if is_binary():  # its children are the same file, and no other Python can use its packages
        return {**os.environ, LIFELINE_VARIABLE: str(lifeline_fd)}
    root = str(Path(coordinator.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "PYTHONPATH": path, LIFELINE_VARIABLE: str(lifeline_fd)}


def _timer(seconds: float, action: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()
    return timer


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Wait until the child has ended; it stays a zombie, so that its number is not reused."""
    with contextlib.suppress(ChildProcessError):
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


def _describe_end(name: str, code: int, stderr: IO[bytes]) -> str:
    if code < 0:
        return f"{name} was killed by {signal.Signals(-code).name}"
    stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, stderr.tell() - STDERR_KEPT_BYTES))
    lines = stderr.read().decode(errors="replace").strip().splitlines()
    return f"{name} ended with {code}" + (f": {lines[-1][:500]}" if lines else " and did not say why")
