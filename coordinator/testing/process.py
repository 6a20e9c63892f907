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
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, Self, TypeVar, get_type_hints

from coordinator.config.environment import variable_of
from coordinator.config.sources import LISTENER_PREFIX, load
from coordinator.config.values import parse_address
from coordinator.testing.errors import CoordinatorTestingError, ServerEndedError, check_fired
from coordinator.testing.held_port import HeldPorts
from coordinator.testing.http import from_plain
from coordinator.testing.http_client import post_verb
from coordinator.testing.settings import LISTENERS, is_secret, settings_of
from coordinator.testing.verbs import Verbs

if TYPE_CHECKING:
    import ssl

P = ParamSpec("P")
T = TypeVar("T")

TOKEN: Final = "test.verbs.token"
START_S: Final = 30.0
STOP_S: Final = 20.0
ANSWER_S: Final = 60.0
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

    `data_dir`: None takes a temporary directory. `users` and all settings are as for `Coordinator`.
    """

    def __init__(
        self,
        *,
        topics: Mapping[str, int] | None = None,
        data_dir: Path | str | None = None,
        listen: str | None = None,
        users: Mapping[str, str] | None = None,
        **settings: object,
    ) -> None:
        self._topics = dict(topics or {})
        self._settings = settings_of(listen, users, settings)
        self._ports = HeldPorts(self._settings[LISTENERS])  # those that are chosen at a start are kept
        self._temporary = tempfile.TemporaryDirectory(prefix="coordinator-") if data_dir is None else None
        self.data_dir = Path(self._temporary.name if self._temporary else str(data_dir))
        self._new_users = dict(users or {})
        self._token = self._settings.get(TOKEN, "") or os.environ.get(variable_of(TOKEN), "").strip()
        self._tls: ssl.SSLContext | None = None
        self.http_address = ""  # of the verbs, host:port or https://host:port
        self._process: subprocess.Popen[bytes] | None = None

    # -- life ----------------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start, at the same address and with the data of before. Returns when clients can use it.

        Raises:
            ServerEndedError: the process ended; the message has its last lines.
        """
        if self.is_running:
            return self
        self.kill()  # what an earlier process left open
        self._add_users()
        self._ports.hold()
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self._port_file.unlink(missing_ok=True)
        self._http_file.unlink(missing_ok=True)
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, **{variable_of(key): value for key, value in self._secrets().items()}},
            )
        try:
            self._wait_for_port()
        except ServerEndedError:
            self.kill()
            self._ports.release()
            raise
        self._tls = self._trusted()
        scheme = "" if self._tls is None else "https://"
        self.http_address = f"{scheme}127.0.0.1:{self._http_file.read_text().strip()}"
        if any(not address.port for address in self._ports.addresses.values()):  # where no port can be held
            self._ports.bound(map(parse_address, self.addresses().values()))
        return self

    def kill(self) -> None:
        """Send SIGKILL: nothing is written or answered any more. `start` starts it again."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            _end(process)

    def stop(self) -> None:
        """Send SIGTERM and wait for the end, also if it is paused. Nothing happens if it does not run.

        Raises:
            ServerEndedError: it had ended before, or did not end in time.
        """
        process, self._process = self._process, None
        self._ports.release()
        if process is None:
            return
        ended = process.poll()
        process.terminate()
        process.send_signal(signal.SIGCONT)
        try:
            _end(process, STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            _end(process)
            raise ServerEndedError(
                f"the coordinator did not stop within {STOP_S:g} s; it said:\n{self.log_tail()}"
            ) from None
        if ended is not None:
            raise ServerEndedError(f"the coordinator had ended with {ended}; it said:\n{self.log_tail()}")

    def crash(self, down: float = 0.0) -> None:
        """Kill it and start it again. `down`: seconds between the two. Faults end with the process."""
        self.kill()
        time.sleep(down)
        self.start()

    def pause(self, seconds: float | None = None) -> None:
        """Have the process do nothing for some time, or with SIGSTOP until `resume`. Its connections stay open."""
        if seconds is None:
            self._running().send_signal(signal.SIGSTOP)
        else:
            self._pause(seconds)

    def resume(self) -> None:
        """Send SIGCONT."""
        self._running().send_signal(signal.SIGCONT)

    def check_faults(self) -> None:
        """Raise FaultNotFiredError if a fault was asked for that no request has met. Nothing if it does not run."""
        if self.is_running:
            self.resume()
            check_fired(self.list_faults())

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                try:
                    self.check_faults()
                finally:
                    self.stop()
            else:
                self.kill()  # the reason of the failure must not be hidden by another
        finally:
            self._ports.release()
            if self._temporary is not None:
                self._temporary.cleanup()

    @property
    def bootstrap_servers(self) -> str:
        """The address of the first listener, host:port."""
        return str(self._ports.first)

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
        timeout_s = ANSWER_S + sum(float(value) for name, value in query if name in ("timeout", "down"))
        pairs = [pair for name, value in query for pair in _pairs(name, value)]
        try:
            return _typed(
                get_type_hints(verb)["return"],
                post_verb(self.http_address, verb.__name__, pairs, self._token, timeout_s, self._tls),
            )
        except CoordinatorTestingError:
            raise
        except OSError as error:
            with suppress(subprocess.TimeoutExpired):  # a connection breaks a moment before its process is gone
                assert self._process is not None
                self._process.wait(ENDING_S)
            self._check_alive("while it was asked")
            raise CoordinatorTestingError(f"the HTTP port {self.http_address} does not answer ({error})") from None

    addresses = _OverHttp(Verbs.addresses)
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
    fence_producer = _OverHttp(Verbs.fence_producer)
    expire_transaction = _OverHttp(Verbs.expire_transaction)
    fail_next = _OverHttp(Verbs.fail_next)
    delay = _OverHttp(Verbs.delay)
    lose_reply = _OverHttp(Verbs.lose_reply)
    drop_connection = _OverHttp(Verbs.drop_connection)
    list_faults = _OverHttp(Verbs.list_faults)
    clear_faults = _OverHttp(Verbs.clear_faults)
    remove_fault = _OverHttp(Verbs.remove_fault)
    loading = _OverHttp(Verbs.loading)
    move_coordinator = _OverHttp(Verbs.move_coordinator)
    _pause = _OverHttp(Verbs.pause)
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
        command = [
            sys.executable,
            "-m",
            "coordinator",
            "serve",
            "--end-with-stdin",
            "--profile",
            "test",
            "--listen",
            self._ports.listeners,
        ]
        command += ["--data-dir", str(self.data_dir / "data"), "--port-file", str(self._port_file)]
        command += ["--http", "127.0.0.1:0", "--http-port-file", str(self._http_file)]
        for name, partitions in self._topics.items():
            command += ["--topic", f"{name}:{partitions}"]
        secrets = self._secrets()
        for key, value in self._settings.items():
            if key not in secrets and key != LISTENERS:
                command += ["--override", f"{key}={value}"]
        return command

    def _secrets(self) -> dict[str, str]:
        """Return the settings that are passed in the environment, because every user sees a command line."""
        return {key: value for key, value in self._settings.items() if is_secret(key)}

    def _add_users(self) -> None:
        """Write the users before the first start. Raises ServerEndedError."""
        if not self._new_users:
            return
        from coordinator.storage.documents.store import DocumentStoreError  # late: few servers have users
        from coordinator.storage.log.fs import RealFileSystem
        from coordinator.testing.user_file import add_users

        try:
            add_users(RealFileSystem(), self.data_dir / "data", self._new_users)
        except (DocumentStoreError, OSError) as error:
            raise ServerEndedError(f"the users of the test cannot be written: {error}") from None
        self._new_users.clear()

    def _trusted(self) -> ssl.SSLContext | None:
        """Return what trusts the certificate of the HTTP port, and no other; None if the port has no TLS."""
        if not any(key.startswith(f"{LISTENER_PREFIX}http.") for key in self._settings):
            return None
        from coordinator.testing.own_certificate import trusting  # late, as above

        return trusting(load(flags=self._settings, profile="test"))

    def _wait_for_port(self) -> None:
        deadline = time.monotonic() + START_S
        while not self._port_file.exists():
            self._check_alive("at its start")
            if time.monotonic() > deadline:
                raise ServerEndedError(
                    f"the coordinator was not ready within {START_S:g} s; it said:\n{self.log_tail()}"
                )
            time.sleep(LOOK_S)

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
    if name == "fault":
        return [(name, str(getattr(value, "number", value)))]
    if isinstance(value, bytes):
        return [(name, value.decode("utf-8", "surrogateescape"))]
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [] if value is None else [(name, str(value))]
    values = list(value)
    if None in values:
        raise CoordinatorTestingError(f"{name}: None cannot be said over HTTP; {_BY_CLIENT}")
    return [pair for each in values for pair in _pairs(name, each)]


_BY_CLIENT: Final = "produce it with a Kafka client, or use Coordinator, which is a server in this process"


def _end(process: subprocess.Popen[bytes], timeout_s: float | None = None) -> None:
    process.wait(timeout_s)
    assert process.stdin is not None
    process.stdin.close()


def _typed(wanted: Any, found: Any) -> Any:
    """Return a result of a verb in its Python type."""
    return found if wanted is type(None) else from_plain(wanted, found)
