"""An asyncio event loop of one simulated process: its time is the world's, and its turns are events of the world.

A turn runs the callbacks that were ready when it began, as asyncio's `_run_once` does. Between two turns a random part
of a millisecond passes, so that bytes arrive between the pieces of work that a program splits, in any order. A process
that is paused takes no turn; one that was killed takes none any more, and what it has asked for does not happen.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from coordinator.simulation.network import Network
    from coordinator.simulation.world import World

TURN_S: Final = 0.000_200  # at most, between what makes a callback ready and its turn
READS_S: Final = 0.000_01  # from the end of a pause until all that has arrived is read
WORK_S: Final = 0.002  # at most, of a call in a thread; one in ten takes up to 50 times as long


class SimulatedLoop:
    """The loop of one process, with those methods of an asyncio loop that nodes and clients use.

    `host`: the address of its machine.
    """

    def __init__(self, world: World, network: Network, name: str, host: str) -> None:
        self.world = world
        self.name = name
        self.host = host
        self.is_dead = False
        self.paused_until_s = 0.0
        self.reads_before_timers = False  # behind a pause, in any order of connections; asyncio does, uvloop does not
        self._network = network
        self._chance = world.chance(f"loop-{name}")
        self._ready: deque[asyncio.Handle] = deque()
        self._has_turn = False
        self._self = cast("asyncio.AbstractEventLoop", self)
        self._tasks: dict[asyncio.Task[Any], None] = {}  # that have not ended

    # -- life of the process -------------------------------------------------------------------------------------

    def kill(self) -> None:
        """End the process: nothing that it has asked for happens any more."""
        self.is_dead = True
        self._ready.clear()
        self._network.drop(self)
        # Closed now, because the garbage collector would close them at a time that no seed decides.
        while self._tasks:  # closing one may begin others
            tasks, self._tasks = self._tasks, {}
            for task in tasks:
                with contextlib.suppress(BaseException):
                    task.get_coro().close()

    def pause(self, seconds: float) -> None:
        """Let the process do nothing for some time, as SIGSTOP does."""
        self.paused_until_s = max(self.paused_until_s, self.world.now_s + seconds)

    def reads_at_s(self, connection: object) -> float:
        """Return when it reads what has arrived on a connection now."""
        if not self.reads_before_timers or self.paused_until_s + READS_S <= self.world.now_s:
            return self.world.now_s
        place = self.world.chance(f"reads-{connection}-{self.paused_until_s}").random()
        return self.paused_until_s + READS_S * place

    def run(self, act: Callable[[], Any]) -> Any:
        """Call a function as a callback of this process, now."""
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(self._self)
        try:
            return act()
        finally:
            asyncio._set_running_loop(outer)

    def in_thread(self, act: Callable[[], None]) -> None:
        """Have a thread of the process call a function, which is a step, some time later."""
        took_s = self._chance.random() * WORK_S
        if self._chance.random() < 0.1:
            took_s *= 50
        self.world.at(self.world.now_s + took_s, lambda: self._thread(act), is_step=True)

    def _thread(self, act: Callable[[], None]) -> None:
        if self.is_dead:
            return
        if self.paused_until_s > self.world.now_s:
            self.world.at(self.paused_until_s, lambda: self._thread(act))
            return
        self.world.running = self.name
        act()

    # -- asyncio -------------------------------------------------------------------------------------------------

    def time(self) -> float:
        return self.world.now_s

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return not self.is_dead

    def is_closed(self) -> bool:
        return self.is_dead

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Any = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self._self, context)
        if not self.is_dead:
            self._ready.append(handle)
            self._take_turn()
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self._self, context)
        self.world.at(when, lambda: self._due(handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass  # it stays in the queue of the world, and does nothing when it is due

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self._self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Any = None) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self._self, name=name, context=context)
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # those of a killed process never end
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        future = self.create_future()

        def work() -> None:
            try:
                result = func(*args)
            except Exception as error:
                self.call_soon(_fail, future, error)
            else:
                self.call_soon(_succeed, future, result)

        self.in_thread(work)
        return future

    async def create_server(self, protocol_factory: Any, *_: Any, sock: Any = None, **__: Any) -> Any:
        return self._network.listen(self, protocol_factory, sock.getsockname())

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        return await self._network.connect(self, protocol_factory, (host, port))

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self.is_dead:
            return
        error = context.get("exception")
        self.world.violated(f"{self.name}: unhandled in the event loop: {context.get('message')}: {error!r}")

    # -- turns ---------------------------------------------------------------------------------------------------

    def _due(self, handle: asyncio.TimerHandle) -> None:
        if self.reads_before_timers and self.paused_until_s > self.world.now_s:
            self.world.at(self.paused_until_s + READS_S, lambda: self._due(handle))
        elif not self.is_dead and not handle.cancelled():
            self._ready.append(handle)
            self._take_turn()

    def _take_turn(self) -> None:
        if not self._has_turn:
            self._has_turn = True
            self.world.at(max(self.world.now_s + self._chance.random() * TURN_S, self.paused_until_s), self._turn)

    def _turn(self) -> None:
        self._has_turn = False
        if self.is_dead:
            return
        if self.paused_until_s > self.world.now_s:
            self._take_turn()
            return
        self.world.running = self.name
        self.run(self._run_ready)
        if self._ready:
            self._take_turn()

    def _run_ready(self) -> None:
        for _ in range(len(self._ready)):
            if not self._ready:  # it was killed meanwhile
                return
            handle = self._ready.popleft()
            if not handle.cancelled():
                handle._run()


def _succeed(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
