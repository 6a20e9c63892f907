"""`Coordinator`: a server for tests, in this process, on a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from functools import update_wrapper
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, Final, Generic, ParamSpec, Self, TypeVar

from coordinator.config.sources import load
from coordinator.server.faults import Fault
from coordinator.storage.memory_fs import IN_MEMORY
from coordinator.testing.errors import NotInTimeError, ServerEndedError, check_fired, check_reached
from coordinator.testing.host import ServerHost
from coordinator.testing.loop_thread import LoopThread, shared_loop_thread
from coordinator.testing.settings import settings_of
from coordinator.testing.verbs import Verbs

P = ParamSpec("P")
T = TypeVar("T")
Verb = Callable[Concatenate[Verbs, P], Coroutine[Any, Any, T]]

REPORT_S: Final = 5.0  # for each answer that the report of a failed test quotes


class _Blocking(Generic[P, T]):
    """A verb as a method that returns when it is done."""

    def __init__(self, verb: Verb[P, T]) -> None:
        self._verb = verb
        self.__doc__ = verb.__doc__

    def __get__(self, coordinator: Coordinator, owner: type | None = None) -> Callable[P, T]:
        def method(*args: P.args, **kwargs: P.kwargs) -> T:
            return coordinator.run(self._verb(coordinator.verbs, *args, **kwargs))

        return update_wrapper(method, self._verb)


class _Awaitable(Generic[P, T]):
    """A verb as a method to be awaited, from any event loop."""

    def __init__(self, verb: Verb[P, T]) -> None:
        self._verb = verb
        self.__doc__ = verb.__doc__

    def __get__(self, coordinator: AsyncCoordinator, owner: type | None = None) -> Callable[P, Awaitable[T]]:
        def method(*args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
            blocking = coordinator.blocking
            return asyncio.wrap_future(blocking.submit(self._verb(blocking.verbs, *args, **kwargs)))

        return update_wrapper(method, self._verb)


class Coordinator:
    """A Kafka-compatible server in this process, for tests.

        with Coordinator(topics={"orders": 6}) as coordinator:
            consumer = KafkaConsumer("orders", bootstrap_servers=coordinator.bootstrap_servers, group_id="g")
            ...

    `topics`: the topics to create, with their numbers of partitions. `data_dir`: a directory for the data; without it,
    everything is kept in memory. `profile`: `coordinator config --profile test` shows what it sets. `users`: passwords
    by user; clients then log in, by default at a listener with SASL_PLAINTEXT. All other settings are keywords:
    `group_max_size=3` is group.max.size, and `**{"listener.name.inside.ssl.client.auth": "none"}` a key as in a file.

    Raises StartupError if the address is in use, and ConfigError for a wrong setting.
    """

    def __init__(
        self,
        *,
        topics: Mapping[str, int] | None = None,
        data_dir: Path | str | None = None,
        listen: str | None = None,
        users: Mapping[str, str] | None = None,
        profile: str = "test",
        **settings: object,
    ) -> None:
        flags = settings_of(listen, users, settings)
        flags["log.dirs"] = IN_MEMORY if data_dir is None else str(data_dir)
        flags["http.listen"] = "off"
        if topics:
            flags["topics.preload"] = ",".join(f"{name}:{count}" for name, count in topics.items())
        self._config = load(flags=flags, profile=profile)
        self._users = dict(users or {})
        self._loop_thread: LoopThread = shared_loop_thread()
        self._host: ServerHost | None = None
        self._latest: ServerHost | None = None  # also after its end, for the report of a test

    # -- life ----------------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start. Returns when clients can use it."""
        if self._host is None:
            host = ServerHost(self._config, users=self._users)
            self._loop_thread.run(host.start())
            self._host = self._latest = host
        return self

    def stop(self) -> None:
        """Stop. Nothing happens if it does not run."""
        host, self._host = self._host, None
        if host is not None:
            self._loop_thread.run(host.close())

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.check_faults()
        finally:
            self.stop()

    async def __aenter__(self) -> AsyncCoordinator:
        await asyncio.to_thread(self.start)
        return AsyncCoordinator(self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    @property
    def bootstrap_servers(self) -> str:
        """The address of the first listener, host:port. It stays the same over `restart` and `crash`."""
        return self._running().bootstrap_servers

    @property
    def faults(self) -> list[Fault]:
        """The faults so far, with how often each has fired."""
        return [] if self._latest is None else self._latest.faults.all()

    def requests(self) -> list[str]:
        """Return the last requests with their outcomes, oldest first, a line each."""
        return [] if self._latest is None else self._latest.requests.lines()

    def check_faults(self) -> None:
        """Raise FaultNotFiredError if a fault was asked for that no request, or no transaction, has met."""
        check_fired(self.faults)
        if self._latest is not None:
            check_reached(self._latest.stages.waiting)

    def report(self, requests: int) -> list[tuple[str, str]]:
        """Return the story of each group and the last requests, as (title, text), for the report of a failed test."""
        if self._latest is None:
            return []
        sections: list[tuple[str, str]] = []
        verbs = Verbs(self._latest)
        try:
            sections += [
                (f"coordinator: group {each}", self._soon(verbs.explain(each))) for each in self._soon(verbs.groups())
            ]
        except Exception as error:  # the server may be down, and the test failed for another reason
            sections.append(("coordinator: groups", f"not known: {error or f'no answer within {REPORT_S:g} s'}"))
        lines = self._latest.requests.lines(requests)
        return [*sections, ("coordinator: last requests", "\n".join(lines) or "none")]

    def _soon(self, coroutine: Coroutine[Any, Any, T]) -> T:
        future = self.submit(coroutine)
        try:
            return future.result(REPORT_S)
        finally:
            future.cancel()

    # -- verbs ---------------------------------------------------------------------------------------------------

    addresses = _Blocking(Verbs.addresses)
    create_topics = _Blocking(Verbs.create_topics)
    produce = _Blocking(Verbs.produce)
    committed = _Blocking(Verbs.committed)
    groups = _Blocking(Verbs.groups)
    describe = _Blocking(Verbs.describe)
    explain = _Blocking(Verbs.explain)
    rebalance = _Blocking(Verbs.rebalance)
    kick = _Blocking(Verbs.kick)
    expire = _Blocking(Verbs.expire)
    fence = _Blocking(Verbs.fence)
    fence_producer = _Blocking(Verbs.fence_producer)
    expire_transaction = _Blocking(Verbs.expire_transaction)
    crash_at = _Blocking(Verbs.crash_at)
    fail_next = _Blocking(Verbs.fail_next)
    delay = _Blocking(Verbs.delay)
    lose_reply = _Blocking(Verbs.lose_reply)
    drop_connection = _Blocking(Verbs.drop_connection)
    list_faults = _Blocking(Verbs.list_faults)
    clear_faults = _Blocking(Verbs.clear_faults)
    remove_fault = _Blocking(Verbs.remove_fault)
    loading = _Blocking(Verbs.loading)
    move_coordinator = _Blocking(Verbs.move_coordinator)
    pause = _Blocking(Verbs.pause)
    advance = _Blocking(Verbs.advance)
    restart = _Blocking(Verbs.restart)
    crash = _Blocking(Verbs.crash)
    wait_stable = _Blocking(Verbs.wait_stable)
    wait_committed = _Blocking(Verbs.wait_committed)

    # -- for the verbs -------------------------------------------------------------------------------------------

    @property
    def verbs(self) -> Verbs:
        """The verbs, as coroutines for the thread of the server."""
        return Verbs(self._running())

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the thread of the server."""
        return self._loop_thread.submit(coroutine)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the thread of the server and return its result."""
        try:
            return self._loop_thread.run(coroutine)
        except NotInTimeError as error:
            if _is_in_event_loop():
                error.add_note(
                    "The test waited in a coroutine, where clients of the same event loop stood still meanwhile. Await "
                    "the verbs of the fixture `async_coordinator`, or of `async with Coordinator(...) as coordinator`."
                )
            raise

    def _running(self) -> ServerHost:
        if self._host is None:
            raise ServerEndedError("this server does not run: call start(), or use it as a context manager")
        return self._host


def _is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class AsyncCoordinator:
    """A running `Coordinator`, with verbs to be awaited. `async with Coordinator() as ...` gives one."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.blocking = coordinator
        self.bootstrap_servers = coordinator.bootstrap_servers

    @property
    def faults(self) -> list[Fault]:
        """The faults so far, with how often each has fired."""
        return self.blocking.faults

    def requests(self) -> list[str]:
        """Return the last requests with their outcomes, oldest first, a line each."""
        return self.blocking.requests()

    addresses = _Awaitable(Verbs.addresses)
    create_topics = _Awaitable(Verbs.create_topics)
    produce = _Awaitable(Verbs.produce)
    committed = _Awaitable(Verbs.committed)
    groups = _Awaitable(Verbs.groups)
    describe = _Awaitable(Verbs.describe)
    explain = _Awaitable(Verbs.explain)
    rebalance = _Awaitable(Verbs.rebalance)
    kick = _Awaitable(Verbs.kick)
    expire = _Awaitable(Verbs.expire)
    fence = _Awaitable(Verbs.fence)
    fence_producer = _Awaitable(Verbs.fence_producer)
    expire_transaction = _Awaitable(Verbs.expire_transaction)
    crash_at = _Awaitable(Verbs.crash_at)
    fail_next = _Awaitable(Verbs.fail_next)
    delay = _Awaitable(Verbs.delay)
    lose_reply = _Awaitable(Verbs.lose_reply)
    drop_connection = _Awaitable(Verbs.drop_connection)
    list_faults = _Awaitable(Verbs.list_faults)
    check_faults = _Awaitable(Verbs.check_faults)
    clear_faults = _Awaitable(Verbs.clear_faults)
    remove_fault = _Awaitable(Verbs.remove_fault)
    loading = _Awaitable(Verbs.loading)
    move_coordinator = _Awaitable(Verbs.move_coordinator)
    pause = _Awaitable(Verbs.pause)
    advance = _Awaitable(Verbs.advance)
    restart = _Awaitable(Verbs.restart)
    crash = _Awaitable(Verbs.crash)
    wait_stable = _Awaitable(Verbs.wait_stable)
    wait_committed = _Awaitable(Verbs.wait_committed)
