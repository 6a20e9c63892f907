"""The membership of this node in a cluster with a shared store: it renews its lease and acts on the newest map.

One task renews the lease, every `cluster.heartbeat.ms` and at once when the map has changed. Each renewal brings a map,
`decide` says what this node should change, and tasks carry that out beside the renewals: partitions are claimed, handed
over or given up, and silent nodes are declared dead. docs/high-availability.md describes the rules.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, NamedTuple

from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import (
    NEVER_OWNED,
    NO_MAP,
    NO_NODE,
    ClusterMap,
    Decision,
    LiveNode,
    NodeState,
    decide,
    wanted_owner,
)
from coordinator.membership.claims import PartitionClaims
from coordinator.membership.counters import MembershipCounters
from coordinator.membership.directory import Engine, ExpiredError, NodeDirectory
from coordinator.membership.lease import Lease
from coordinator.membership.partition_host import PartitionHost
from coordinator.membership.peer_connections import OpenPeer, PeerConnections
from coordinator.storage.log_store import LogStoreError
from coordinator.storage.machine import THIS_MACHINE

LOG: Final = logging.getLogger("coordinator.cluster")

RETRY_S: Final = 0.1  # after a renewal that failed; doubles up to the heartbeat
BETWEEN_RENEWALS_S: Final = 0.01  # at least
TIMER_S: Final = 0.005  # the shortest timer for the end of the lease
CLAIMED_S: Final = 0.2  # at most, until the next partition is handed over although the last one is not claimed yet


class MembershipSettings(NamedTuple):
    """Settings of `cluster.*`, and the number of partitions that are claimed."""

    partitions: int
    lease_ms: int = 3000
    heartbeat_ms: int = 500
    rebalance_delay_ms: int = 30_000


class Membership:
    """The membership of one node.

    `lease.holds()` tells whether it may answer now. `view` is the newest map.
    """

    def __init__(
        self,
        me: ClusterNode,
        engine: Engine,
        host: PartitionHost,
        settings: MembershipSettings,
        open_peer: OpenPeer,
        *,
        clock: Callable[[], float] = THIS_MACHINE.boot_time,
        new_incarnation: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self.me = me
        self.incarnation = ""
        self.view = NO_MAP
        self.counters = MembershipCounters()
        self.lease = Lease(settings.lease_ms, clock)
        self._directory: NodeDirectory = engine.directory
        self._host = host
        self._settings = settings
        self._clock = clock
        self._new_incarnation = new_incarnation
        self._claims = PartitionClaims(engine.store, host, clock, self.counters, self._claim_changed)
        self._peers = PeerConnections(self._refused, open_peer)
        self._up_since: dict[int, tuple[str, float]] = {}  # incarnation, and when it was first seen to be up
        self._tasks: set[asyncio.Task[None]] = set()
        self._handing_over: asyncio.Task[None] | None = None
        self._expiring: asyncio.Task[None] | None = None
        self._lease_timer: asyncio.TimerHandle | None = None
        self._renew_now = asyncio.Event()
        self._view_changed = asyncio.Event()
        self._changed = asyncio.Event()  # the view or a claim
        self._is_suspended = False
        self._is_leaving = False
        self._is_failing = False  # the last renewal failed

    # -- start and stop ------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Announce this node and begin to renew its lease.

        Raises LogStoreError if the store cannot be used for two leases, or if another process has the id of this node.
        """
        await self._announce(give_up_after_s=2 * self.lease.lease_s)
        self._directory.watch(self._renew_now.set)
        self._watch_lease()
        self._begin(self._renewals())

    async def drain_and_leave(self) -> None:
        """Hand all partitions over, one after the other, leave the cluster, and end all tasks. `start` has returned."""
        self._is_leaving = True
        self._claims.stop_taking()
        await self._host.before_stop()
        try:
            async with asyncio.timeout(self.lease.lease_s):
                await self._directory.drain()
            for partition in sorted(self._claims.epochs):
                if self.lease.holds():
                    await self._hand_over_in_time(partition)
            await self.close()
            async with asyncio.timeout(self.lease.lease_s):
                await self._directory.leave()
        except ExpiredError:
            LOG.info("left node=%d, which was declared dead before", self.me.id)
        except (LogStoreError, TimeoutError) as error:
            LOG.warning("left without the store, others take over after cluster.lease.ms: %s", _sentence(error))
        await self.close()

    async def close(self) -> None:
        """Give up what this node still holds, and end all tasks. Its entry in the store stays until it expires."""
        self.lease.ended()
        if self._lease_timer is not None:
            self._lease_timer.cancel()
        self._claims.give_up_all("the node stops")
        for task in self._tasks:
            task.cancel()
        await self._peers.close()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._claims.wait()

    async def settled(self) -> None:
        """Return when this node serves all partitions that it should claim now, but for those that it failed to."""
        while not self.view.nodes or self._claims.is_busy or not self._decide().claim.keys() <= self._claims.failing:
            self._changed.clear()
            await self._changed.wait()

    def fenced(self, partition: int) -> None:
        """Note that an append was refused because of a later claim."""
        self.give_up(partition, "an append was fenced")

    def give_up(self, partition: int, reason: str) -> None:
        """Stop serving a partition. A claim that still holds is released, and the wanted node claims it anew."""
        self._claims.give_up((partition,), reason)
        self._renew_now.set()

    async def _announce(self, give_up_after_s: float = float("inf")) -> None:
        """Enter this node as a new incarnation. Raises LogStoreError if that fails for some time."""
        self.incarnation = self._new_incarnation()
        first_s = self._clock()
        while True:
            sent_s = self._clock()
            try:
                async with asyncio.timeout(self.lease.lease_s):
                    await self._directory.announce(self.me, self.incarnation)
            except (LogStoreError, TimeoutError) as error:
                if self._clock() - first_s >= give_up_after_s:
                    raise error if isinstance(error, LogStoreError) else LogStoreError(_sentence(error)) from None
                if isinstance(error, ExpiredError):  # a try whose answer was lost may have been declared dead since
                    self.incarnation = self._new_incarnation()
                self._note_failure("the node could not be announced, it tries again", error)
                await asyncio.sleep(self._settings.heartbeat_ms / 1000)
            else:
                self.lease.began(sent_s)
                LOG.info("announced node=%s incarnation=%s", self.me, self.incarnation)
                return

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.error("a task of the membership failed", exc_info=error)

    # -- the lease -----------------------------------------------------------------------------------------------

    async def _renewals(self) -> None:
        heartbeat_s = self._settings.heartbeat_ms / 1000
        retry_s = RETRY_S
        while True:
            began_s = self._clock()
            if await self._renew():
                retry_s, pause_s = RETRY_S, heartbeat_s - (self._clock() - began_s)
            elif self._is_leaving and not self.lease.holds():
                return
            else:
                retry_s, pause_s = min(retry_s * 2, heartbeat_s), retry_s
            await asyncio.sleep(BETWEEN_RENEWALS_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(pause_s - BETWEEN_RENEWALS_S, 0.0)):
                    await self._renew_now.wait()
            self._renew_now.clear()

    async def _renew(self) -> bool:
        """Renew the lease and act on the map. Returns False if that failed."""
        try:
            try:
                is_renewed = await self._renew_and_act()
            except ExpiredError as error:
                await self._come_back(error)
                return False
        except Exception as error:  # of any kind: without renewals the node would do nothing any more
            self._note_failure("the lease could not be renewed, it tries again", error)
            return False
        if is_renewed and self._is_failing:
            self._is_failing = False
            LOG.info("the lease is renewed again node=%d", self.me.id)
        return is_renewed

    async def _renew_and_act(self) -> bool:
        """Renew the lease and act on the map that this brings.

        Returns False, and does not act, if this process was stopped meanwhile: the map is old then.
        Raises LogStoreError.
        """
        sent_s = self._clock()
        async with asyncio.timeout(self.lease.lease_s / 2):
            view = await self._directory.renew()
        self.counters.renewal_seconds.observe(self._clock() - sent_s)
        self.lease.renewed(sent_s)
        if not self.lease.holds():
            return False
        self._act(self._with_me(view), sent_s)
        return True

    def _with_me(self, view: ClusterMap) -> ClusterMap:
        """Return a map in which this node is fresh: it has just been heard of."""
        mine = view.nodes.get(self.me.id)
        if mine is None or mine.is_fresh:
            return view
        return view._replace(nodes={**view.nodes, self.me.id: mine._replace(is_fresh=True)})

    def _note_failure(self, act: str, error: Exception) -> None:
        if not self._is_failing:
            self._is_failing = True
            is_known = isinstance(error, LogStoreError | TimeoutError)
            LOG.warning("%s: %s", act, _sentence(error), exc_info=None if is_known else error)

    async def _come_back(self, error: ExpiredError) -> None:
        self.lease.ended()
        self._claims.give_up_all("the node was declared dead")
        if not self._is_leaving:
            LOG.warning("this node was declared dead, it comes back without its partitions: %s", error)
            await self._announce()

    def _watch_lease(self) -> None:
        """Notice the end of the lease; `_act` notices that there is one again."""
        left_s = self.lease.until_s - self._clock()
        if left_s > 0:
            self._lease_timer = asyncio.get_running_loop().call_later(max(left_s, TIMER_S), self._watch_lease)
        else:
            self.check_lease()

    def check_lease(self) -> None:
        """Suspend the partitions if the lease has ended. The daemon calls this before each request, too."""
        if not self._is_suspended and not self.lease.holds():
            self._is_suspended = True
            self.counters.lease_losses += 1
            LOG.warning("lease lost node=%d", self.me.id)
            self._host.suspend()

    def _resume(self) -> None:
        self._is_suspended = False
        if self._lease_timer is not None:
            self._lease_timer.cancel()
        LOG.info("lease back node=%d", self.me.id)
        self._host.resume()
        self._watch_lease()

    # -- acting on a map -----------------------------------------------------------------------------------------

    def _act(self, view: ClusterMap, sent_s: float) -> None:
        """Take over a map, and begin what this node should change. `sent_s`: when the renewal that brought it began."""
        if view != self.view:
            self._log_nodes(view)
            self.view = view
            self._host.map_changed(view)
            self._view_changed.set()
            self._changed.set()
        decision = self._decide()
        self._claims.give_up(decision.lost, "another node has claimed them")
        if self._is_suspended:
            self._resume()
        self._note_up()
        self._peers.follow(each for each in self._others() if each.state is NodeState.UP)
        if self.lease.unbroken_s(sent_s) >= self.lease.lease_s and _is_idle(self._expiring) and decision.expire:
            self._expiring = self._begin(self._expire([view.nodes[number] for number in decision.expire]))
        if not self._is_leaving:
            self._claims.release(decision.release)
            self._claims.take(decision.claim)
            self._begin_hand_over(decision.hand_over)

    def _decide(self) -> Decision:
        return decide(self.view, self._settings.partitions, self.me.id, self.incarnation, self._claims.epochs)

    def _claim_changed(self) -> None:
        """Take the next free partitions, and have the map read again."""
        self._renew_now.set()
        if self.lease.holds() and not self._is_leaving:
            self._claims.take(self._decide().claim)
        self._changed.set()

    def _others(self) -> list[LiveNode]:
        return [each for number, each in self.view.nodes.items() if number != self.me.id]

    def _log_nodes(self, view: ClusterMap) -> None:
        for number in sorted(self.view.nodes.keys() | view.nodes.keys()):
            before, now = self.view.nodes.get(number), view.nodes.get(number)
            if _condition(before) != _condition(now):
                node = now or before
                assert node is not None
                LOG.info("node %s node=%s incarnation=%s", _condition(now), node.node, node.incarnation)

    # -- nodes that do not answer --------------------------------------------------------------------------------

    async def _expire(self, silent: list[LiveNode]) -> None:
        for each in silent:
            await self._declare_dead(each, self._directory.expire, "it was silent for longer than its lease")

    async def _refused(self, peer: LiveNode) -> bool:
        return await self._declare_dead(peer, self._directory.expire_dead, "its process has ended")

    async def _declare_dead(
        self, node: LiveNode, declare: Callable[[int, str], Coroutine[Any, Any, bool]], reason: str
    ) -> bool:
        try:
            is_dead = await declare(node.node.id, node.incarnation)
        except LogStoreError as error:
            LOG.debug("node=%d could not be declared dead: %s", node.node.id, error)
            return False
        if is_dead:
            self.counters.expired_nodes += 1
            LOG.warning("node declared dead node=%s incarnation=%s reason=%s", node.node, node.incarnation, reason)
            self._renew_now.set()
        return is_dead

    # -- hand-overs ----------------------------------------------------------------------------------------------

    def _note_up(self) -> None:
        now_s = self._clock()
        up = {number: each.incarnation for number, each in self.view.nodes.items() if each.is_up}
        since = self._up_since
        self._up_since = {
            number: since[number] if since.get(number, ("",))[0] == incarnation else (incarnation, now_s)
            for number, incarnation in up.items()
        }

    def _begin_hand_over(self, wanted: Mapping[int, int]) -> None:
        """Begin to hand one partition over, if its wanted owner has been up for long enough."""
        before_s = self._clock() - self._settings.rebalance_delay_ms / 1000
        due = ((partition, to) for partition, to in wanted.items() if self._up_since[to][1] <= before_s)
        first = next(due, None)
        if first is not None and _is_idle(self._handing_over):
            self._handing_over = self._begin(self._hand_over(*first))

    async def _hand_over(self, partition: int, to: int) -> None:
        """Hand a partition over and wait until it is claimed, but not for long."""
        epoch = self._claims.epochs.get(partition, 0)
        await self._claims.hand_over(partition, to)
        if to == NO_NODE:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLAIMED_S):
                while self.view.owners.get(partition, NEVER_OWNED).epoch <= epoch:
                    self._view_changed.clear()
                    await self._view_changed.wait()
        self._renew_now.set()  # the next map begins the next hand-over

    async def _hand_over_in_time(self, partition: int) -> None:
        to = wanted_owner(partition, [each.node.id for each in self._others() if each.is_up])
        with contextlib.suppress(TimeoutError):  # then it is given up at the end
            async with asyncio.timeout(self.lease.lease_s):
                await self._hand_over(partition, to)


def _is_idle(task: asyncio.Task[None] | None) -> bool:
    return task is None or task.done()


def _condition(node: LiveNode | None) -> str:
    if node is None:
        return "gone"
    return node.state.value if node.is_fresh or node.state is NodeState.EXPIRED else "silent"


def _sentence(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "the store did not answer in time"
    return str(error) if isinstance(error, LogStoreError) else repr(error)
