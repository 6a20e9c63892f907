"""`CoordinatorProcess`: a server in a process of its own, which can be killed with SIGKILL and started again."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import update_wrapper
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, Final, Generic, ParamSpec, Self, TypeVar, get_type_hints

from coordinator.config.environment import variable_of
from coordinator.testing.errors import CoordinatorTestingError, ServerEndedError
from coordinator.testing.http import from_plain
from coordinator.testing.http_client import post_verb
from coordinator.testing.settings import ANY_PORT, setting_text
from coordinator.testing.verbs import Verbs

P = ParamSpec("P")
T = TypeVar("T")

TOKEN: Final = "test.verbs.token"  # passed in the environment, because every user sees a command line
START_S: Final = 30.0
STOP_S: Final = 20.0
ENDING_S: Final = 1.0
LOOK_S: Final = 0.005
LINES_QUOTED: Final = 15


class _OverHttp(Generic[P, T]):
    """A verb as a method that asks the HTTP port of the process."""

    def __init__(self, verb: Callable[Concatenate[Verbs, P], Coroutine[Any, Any, T]]) -> None:
        self._verb = verb
        self.__doc__ = verb.__doc__

    def __get__(self, process: CoordinatorProcess, owner: type | None = None) -> Callable[P, T]:
        def method(*args: P.args, **kwargs: P.kwargs) -> T:
            result: T = process.ask(self._verb, args, kwargs)
            return result

        return update_wrapper(method, self._verb)


class CoordinatorProcess:
    """`coordinator serve --profile test` as a child process, with its data in a directory.

        with CoordinatorProcess(topics={"orders": 6}) as coordinator:
            ...
            coordinator.kill()
            coordinator.start()

    `data_dir`: None takes a temporary directory. Settings are keywords, as for `Coordinator`.
    """

    def __init__(
        self,
        *,
        topics: Mapping[str, int] | None = None,
        data_dir: Path | str | None = None,
        listen: str = ANY_PORT,
        **settings: object,
    ) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="coordinator-") if data_dir is None else None
        self.data_dir = Path(self._temporary.name if self._temporary else str(data_dir))
        self._topics = dict(topics or {})
        self._settings = {name.replace("_", "."): setting_text(value) for name, value in settings.items()}
        self._token = self._settings.pop(TOKEN, "")
        self.http_address = ""  # of the verbs, host:port
        self._process: subprocess.Popen[bytes] | None = None
        self._address = listen  # a port that the system chooses at the first start is kept from then on

    # -- life ----------------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start, at the same address and with the data of before. Returns when clients can use it.

        Raises:
            ServerEndedError: the process ended; the message has its last lines.
        """
        if self.is_running:
            return self
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self._port_file.unlink(missing_ok=True)
        self._http_file.unlink(missing_ok=True)
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, **({variable_of(TOKEN): self._token} if self._token else {})},
            )
        deadline = time.monotonic() + START_S
        while not self._port_file.exists():
            self._check_alive("at its start")
            if time.monotonic() > deadline:
                self.kill()
                raise ServerEndedError(
                    f"the coordinator was not ready within {START_S:g} s; it said:\n{self.log_tail()}"
                )
            time.sleep(LOOK_S)
        self._address = f"127.0.0.1:{self._port_file.read_text().strip()}"
        self.http_address = f"127.0.0.1:{self._http_file.read_text().strip()}"
        return self

    def kill(self) -> None:
        """Send SIGKILL: nothing is written or answered any more. `start` starts it again."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Send SIGTERM and wait for the end. Nothing happens if it does not run.

        Raises:
            ServerEndedError: it had ended before, or did not end in time.
        """
        process, self._process = self._process, None
        if process is None:
            return
        ended = process.poll()
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise ServerEndedError(
                f"the coordinator did not stop within {STOP_S:g} s; it said:\n{self.log_tail()}"
            ) from None
        if ended is not None:
            raise ServerEndedError(f"the coordinator had ended with {ended}; it said:\n{self.log_tail()}")

    def pause(self) -> None:
        """Send SIGSTOP: the process does nothing until `resume`, and its connections stay open."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Send SIGCONT."""
        self._running().send_signal(signal.SIGCONT)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.stop()
            else:
                self.kill()  # the reason of the failure must not be hidden by another
        finally:
            if self._temporary is not None:
                self._temporary.cleanup()

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients, host:port."""
        return self._address

    @property
    def is_running(self) -> bool:
        """True while the process lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._running().pid

    def log_tail(self, lines: int = LINES_QUOTED) -> str:
        """Return the last lines that the process wrote."""
        with suppress(OSError):
            return "\n".join(self._log_file.read_text(errors="replace").splitlines()[-lines:])
        return ""

    def report(self, requests: int) -> list[tuple[str, str]]:
        """Return the last lines of the process, as (title, text), for the report of a failed test."""
        return [("coordinator: its log", self.log_tail(requests))]

    # -- verbs ---------------------------------------------------------------------------------------------------

    def ask(self, verb: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        """Have the process do a verb."""
        self._check_alive("before it was asked")
        names = list(inspect.signature(verb).parameters)[1:]
        query = [*zip(names, arguments, strict=False), *options.items()]
        pairs = [pair for name, value in query for pair in _pairs(name, value)]
        try:
            return _typed(
                get_type_hints(verb)["return"], post_verb(self.http_address, verb.__name__, pairs, self._token)
            )
        except CoordinatorTestingError:
            raise
        except OSError as error:
            with suppress(subprocess.TimeoutExpired):  # a connection breaks a moment before its process is gone
                assert self._process is not None
                self._process.wait(ENDING_S)
            self._check_alive("while it was asked")
            raise CoordinatorTestingError(f"the HTTP port {self.http_address} does not answer ({error})") from None

    create_topics = _OverHttp(Verbs.create_topics)
    produce = _OverHttp(Verbs.produce)
    committed = _OverHttp(Verbs.committed)
    groups = _OverHttp(Verbs.groups)
    describe = _OverHttp(Verbs.describe)
    explain = _OverHttp(Verbs.explain)
    rebalance = _OverHttp(Verbs.rebalance)
    kick = _OverHttp(Verbs.kick)
    expire = _OverHttp(Verbs.expire)
    fence = _OverHttp(Verbs.fence)
    fail_next = _OverHttp(Verbs.fail_next)
    delay = _OverHttp(Verbs.delay)
    lose_reply = _OverHttp(Verbs.lose_reply)
    drop_connection = _OverHttp(Verbs.drop_connection)
    remove_fault = _OverHttp(Verbs.remove_fault)
    loading = _OverHttp(Verbs.loading)
    move_coordinator = _OverHttp(Verbs.move_coordinator)
    advance = _OverHttp(Verbs.advance)
    restart = _OverHttp(Verbs.restart)
    wait_stable = _OverHttp(Verbs.wait_stable)
    wait_committed = _OverHttp(Verbs.wait_committed)

    # -- internal ------------------------------------------------------------------------------------------------

    @property
    def _log_file(self) -> Path:
        return self.data_dir / "coordinator.log"

    @property
    def _port_file(self) -> Path:
        return self.data_dir / "port"

    @property
    def _http_file(self) -> Path:
        return self.data_dir / "http-port"

    def _command(self) -> list[str]:
        command = [sys.executable, "-m", "coordinator", "serve", "--profile", "test", "--listen", self._address]
        command += ["--data-dir", str(self.data_dir / "data"), "--port-file", str(self._port_file)]
        command += ["--http", "127.0.0.1:0", "--http-port-file", str(self._http_file)]
        for name, partitions in self._topics.items():
            command += ["--topic", f"{name}:{partitions}"]
        for key, value in self._settings.items():
            command += ["--override", f"{key}={value}"]
        return command

    def _running(self) -> subprocess.Popen[bytes]:
        self._check_alive("already")
        assert self._process is not None
        return self._process

    def _check_alive(self, when: str) -> None:
        if self._process is None:
            raise ServerEndedError("the coordinator does not run: call start(), or use it as a context manager")
        if (code := self._process.poll()) is not None:
            raise ServerEndedError(f"the coordinator ended {when} (exit code {code}); it said:\n{self.log_tail()}")


def _pairs(name: str, value: Any) -> list[tuple[str, str]]:
    """Return a parameter as it stands in a query."""
    if isinstance(value, Mapping):
        return [(str(key), str(each)) for key, each in value.items()]
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return [] if value is None else [(name, value.decode() if isinstance(value, bytes) else str(value))]
    return [pair for each in value for pair in _pairs(name, each)]


def _typed(wanted: Any, found: Any) -> Any:
    """Return a result of a verb in its Python type."""
    return found if wanted is type(None) else from_plain(wanted, found)
