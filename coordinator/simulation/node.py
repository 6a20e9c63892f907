"""A simulated node: the real `Server` on a simulated machine, which can be killed and started again at any moment.

Each start has a new event loop and a new server over what the last one left on the disk. A machine that goes off in the
middle of an operation of its disk (`LossyFileSystem.crash_after`) is noticed after the event.
"""

from __future__ import annotations

import logging
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.server.server import Server
from coordinator.server.startup import StartupError
from coordinator.server.supervised import Supervised
from coordinator.simulation.disk import LossyFileSystem
from coordinator.simulation.loop import SimulatedLoop
from coordinator.simulation.machine import SimulatedMachine
from coordinator.storage.log.errors import LogError

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordinator.config.config import Config
    from coordinator.server.runtime import Runtime
    from coordinator.simulation.network import Network
    from coordinator.simulation.world import World

DATA: Final = Path("/data")
LOGGER: Final = logging.getLogger("coordinator")


class BoundSocket:
    """Stands for the socket that a node is given."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address

    def getsockname(self) -> tuple[str, int]:
        return self._address

    def listen(self, backlog: int) -> None:
        pass

    def fileno(self) -> int:
        return -1

    def close(self) -> None:
        pass


class SimulatedNode:
    """One node, through all its starts."""

    def __init__(self, world: World, network: Network, number: int, config: Config) -> None:
        self.number = number
        self.name = f"node-{number}"
        self.host = f"10.0.0.{number}"
        self.address = self.host, 9092
        self.disk = LossyFileSystem(seed=world.seed * 100 + number, reorders_names=world.seed % 2 == 0)
        self.is_ready = False
        self.is_going_off = False  # its disk is off already
        self.rotten = ""  # the file of its offsets log with wrong bits
        self.must_serve = False  # whatever they are
        self.disturbed_s = 0.0  # when it was last down, paused, or had trouble with its disk
        self.wall_jump_ms = 0
        self.refused = ""  # why the last start was refused
        self.on_ready: Callable[[SimulatedNode], None] = lambda node: None
        self._world = world
        self._network = network
        self._config = config
        self._chance = world.chance(self.name)
        self.starts = 0
        self.loop: SimulatedLoop | None = None
        self.server: Server | None = None
        self.machine: SimulatedMachine | None = None

    @property
    def runtime(self) -> Runtime | None:
        """The running node; None if it is down or has not opened its logs."""
        return None if self.server is None or self.server._runtime is None else self.server.runtime

    @property
    def is_up(self) -> bool:
        """True if its process runs."""
        return self.loop is not None and not self.loop.is_dead

    def was_loading(self, group_id: str, since_s: float) -> bool:
        """Return whether it may have been reading the group from the log, after a time."""
        return not self.is_ready

    def disturbed(self, seconds: float = 0.0) -> None:
        """Note that requests may take longer, or be lost, until some time from now."""
        self.disturbed_s = max(self.disturbed_s, self._world.now_s + seconds)

    # -- life ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the process. Nothing happens if it runs."""
        if self.is_up:
            return
        self.starts += 1
        self.is_ready = False
        self.refused = ""
        self.is_going_off = False
        self.disturbed()
        loop = self.loop = SimulatedLoop(self._world, self._network, self.name, self.host)
        machine = self.machine = SimulatedMachine(
            loop, random.Random(f"{self._world.seed}-{self.name}-{self.starts}"), self.wall_jump_ms
        )
        self._world.note(f"{self.name} starts")
        self.server = self._new_server(BoundSocket(self.address), machine)
        loop.create_task(self._serve(loop, self.server))

    def _new_server(self, listening: Any, machine: SimulatedMachine) -> Server:
        return Server(self._config, Supervised((listening,)), fs=self.disk, machine=machine)

    async def _serve(self, loop: SimulatedLoop, server: Server) -> None:
        try:
            await server.start()
        except StartupError as error:
            self._world.note(f"{self.name} does not start: {error}")
            self.refused = str(error)
            if self.rotten and self.must_serve and isinstance(error.__context__, LogError):
                self._world.violated(f"{self.name} does not start for bits of {self.rotten}: {error}")
            if self.disk.is_off:
                self.lose_power()
            else:
                self._end()
                self.disk = self.disk.killed()
            self.start_later()
            return
        self.is_ready = True
        self.disturbed()
        self._world.note(f"{self.name} is ready")
        self.on_ready(self)

    def kill(self) -> None:
        """End the process as SIGKILL does: what it has written stays."""
        if self.is_up:
            self._world.note(f"{self.name} is killed")
            self._end()
            self.disk = self.disk.killed()

    def lose_power(self) -> None:
        """End the process and the machine: what was not synced may be lost, in part or whole."""
        self._world.note(f"{self.name} loses power")
        self._end()
        self.disk = self.disk.crash(self._chance)

    def stop(self, then: Callable[[], None]) -> None:
        """Stop the process in good order."""
        loop, server = self.loop, self.server
        if loop is None or server is None or loop.is_dead or not self.is_ready:
            self.kill()
            then()
            return
        self._world.note(f"{self.name} is told to stop")
        self.disturbed(60.0)
        self.is_ready = False

        async def stop() -> None:
            await server.stop()
            self._world.note(f"{self.name} has stopped")
            self._end()
            self.disk = self.disk.killed()
            then()

        loop.create_task(stop())

    def pause(self, seconds: float) -> None:
        """Let the process do nothing for some time."""
        if self.loop is not None and self.is_up:
            self.disturbed(seconds + 2.0)
            self.loop.pause(seconds)

    def jump(self, ms: int) -> None:
        """Set the wall clock forward or back."""
        self.wall_jump_ms += ms
        if self.machine is not None:
            self.machine.wall_jump_ms = self.wall_jump_ms

    def _end(self) -> None:
        self.is_ready = False
        self.disturbed()
        self.disk.is_off = True  # first: what the process still does while it ends must not reach the disk
        if self.loop is not None:
            self.loop.kill()
        self.server = None

    def start_later(self) -> None:
        """Start the process again after a while, as systemd does."""
        self._world.at(self._world.now_s + 0.1 + self._chance.random() * 2, self.start)


class LogLines(logging.Handler):
    """Takes the log lines of the nodes: a line that reports a defect is a violation."""

    DEFECTS: Final = ("please report this", "invariant broken", "Traceback")

    def __init__(self, world: World, nodes: dict[int, SimulatedNode]) -> None:
        super().__init__(logging.WARNING)
        self._world = world
        self._nodes = {node.name: node for node in nodes.values()}
        self._level = logging.NOTSET
        self._propagates = True

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        self._world.note(f"log {record.levelname} {text}")
        node = self._nodes.get(self._world.running)
        if node is not None and node.disk.is_off:
            return  # its machine is going off, and the line is never written
        error: Any = record.exc_info[1] if record.exc_info else None
        if node is not None and node.rotten and not node.must_serve and isinstance(error, LogError):
            return  # it says what is damaged
        if error is not None or any(each in text for each in self.DEFECTS):
            self._world.violated(f"the log reports a defect: {text}{f' ({error!r})' if error is not None else ''}")

    def __enter__(self) -> LogLines:
        self._level, self._propagates = LOGGER.level, LOGGER.propagate
        LOGGER.setLevel(logging.WARNING)
        LOGGER.propagate = False
        LOGGER.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        LOGGER.removeHandler(self)
        LOGGER.setLevel(self._level)
        LOGGER.propagate = self._propagates
