"""Takes the steps of a schedule that are verbs of a server. Those that happen to a process of the application are not
here: `play.py` takes them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from coordinator.server.faults import ANY
from coordinator.testing.errors import CoordinatorTestingError, UnknownMemberError

if TYPE_CHECKING:
    from coordinator.testing.verbs import Verbs
    from coordinator.torture.schedule import Step


@dataclass(frozen=True, slots=True)
class TortureTarget:
    """A server, and the group of the application on it.

    `clients`: how the client ids of copy 1, 2, … begin, and their transactional ids, if they have some.
    """

    verbs: Verbs
    group: str
    clients: tuple[str, ...]

    def client(self, step: Step) -> str:
        """Return the pattern for the clients that a step concerns."""
        return f"{self.clients[step.copy - 1]}*" if 0 < step.copy <= len(self.clients) else ANY

    async def member(self, step: Step) -> str:
        """Return the member id of the copy that a step concerns: without a number, of the first copy.

        Raises UnknownMemberError if it is no member now.
        """
        wanted = self.clients[step.copy - 1] if 0 < step.copy <= len(self.clients) else self.clients[0]
        for member in (await self.verbs.describe(self.group)).members:
            if member.client_id.startswith(wanted):
                return member.member_id
        raise UnknownMemberError(f"{wanted} is no member of {self.group!r} now")


async def _rebalance(target: TortureTarget, step: Step) -> None:
    await target.verbs.rebalance(target.group)


async def _kick(target: TortureTarget, step: Step) -> None:
    await target.verbs.kick(await target.member(step), group=target.group)


async def _expire(target: TortureTarget, step: Step) -> None:
    await target.verbs.expire(await target.member(step), group=target.group)


async def _fail_next(target: TortureTarget, step: Step) -> None:
    await target.verbs.fail_next(step.api, step.error, step.times, client=target.client(step))


async def _delay(target: TortureTarget, step: Step) -> None:
    await target.verbs.delay(step.api, step.ms, step.times, client=target.client(step))


async def _lose_reply(target: TortureTarget, step: Step) -> None:
    await target.verbs.lose_reply(step.api, step.times, client=target.client(step))


async def _drop_connection(target: TortureTarget, step: Step) -> None:
    await target.verbs.drop_connection(target.client(step))


async def _move_coordinator(target: TortureTarget, step: Step) -> None:
    await target.verbs.move_coordinator(target.group)


async def _loading(target: TortureTarget, step: Step) -> None:
    await target.verbs.loading(target.group, step.ms / 1000)


async def _restart(target: TortureTarget, step: Step) -> None:
    await target.verbs.restart(step.ms / 1000)


async def _crash(target: TortureTarget, step: Step) -> None:
    await target.verbs.crash(step.ms / 1000)


async def _pause(target: TortureTarget, step: Step) -> None:
    await asyncio.create_task(target.verbs.pause(step.ms / 1000))  # it begins at the end of its task


async def _crash_at(target: TortureTarget, step: Step) -> None:
    await target.verbs.crash_at(step.at, target.client(step), times=step.times, down=step.ms / 1000)


async def _fence_at(target: TortureTarget, step: Step) -> None:
    _soon_at(target, step, target.verbs.fence_producer)


async def _expire_at(target: TortureTarget, step: Step) -> None:
    _soon_at(target, step, target.verbs.expire_transaction)


def _soon_at(target: TortureTarget, step: Step, verb: Callable[[str], Awaitable[None]]) -> None:
    """Have a verb done when a transaction is at the stage of a step, as the next event of the server."""
    tasks: set[asyncio.Task[None]] = set()

    async def do(transactional_id: str) -> None:
        with contextlib.suppress(CoordinatorTestingError):  # the transaction has ended meanwhile
            await verb(transactional_id)

    def act(transactional_id: str) -> None:
        task = asyncio.get_running_loop().create_task(do(transactional_id))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    target.verbs.at_stage(step.at, target.client(step), act, times=step.times)


_TAKE: Final[dict[str, Callable[[TortureTarget, Step], Awaitable[Any]]]] = {
    "rebalance": _rebalance,
    "kick": _kick,
    "expire": _expire,
    "fail_next": _fail_next,
    "delay": _delay,
    "lose_reply": _lose_reply,
    "drop_connection": _drop_connection,
    "move_coordinator": _move_coordinator,
    "loading": _loading,
    "restart": _restart,
    "crash": _crash,
    "pause": _pause,
    "crash_at": _crash_at,
    "fence_at": _fence_at,
    "expire_at": _expire_at,
}
SERVER_STEPS: Final = frozenset(_TAKE)


async def take(target: TortureTarget, step: Step) -> None:
    """Take a step of SERVER_STEPS.

    Raises CoordinatorTestingError where it cannot be taken now, for example because a member is away.
    """
    await _TAKE[step.do](target, step)
