"""One group in virtual time: the real core, modelled clients, and what happens to them.

The clients (`client.py`) speak the classic protocol as Kafka's consumers do. Appends are durable after a modelled time.
Nothing is sent while nothing happens: when the group is quiet, the clock of the core stands still and the wall clock
goes on to the next stimulus. So the events have the times of the stimuli, and a run costs what its rebalances cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from heapq import heappop, heappush
from random import Random
from typing import TYPE_CHECKING, Any, Final

from coordinator.config.config import Config
from coordinator.core.coordinator import GroupCoordinator
from coordinator.core.effects import Effects, Ticket
from coordinator.core.events.model import AnyEvent, ChangeKind, Rebalance
from coordinator.core.group.forced import ForceRebalance
from coordinator.core.group.state import EMPTY, PREPARING_REBALANCE, STABLE
from coordinator.core.loading import LoadedState
from coordinator.core.offsets.store import OffsetStore
from coordinator.whatif.assignors import Partitions
from coordinator.whatif.client import ConsumerModel, PlayError
from coordinator.whatif.spec import NORMAL, PlayedGroup, Stimulus, StimulusAction

if TYPE_CHECKING:
    from coordinator.core.effects import Append
    from coordinator.core.group.group import Group

OnAppend = Callable[["Append", int], None]  # an append, and its time since the epoch

NEVER: Final = 1 << 62  # ms
CONFIG: Final = Config(group_rebalance_warn_ms=0, group_owners_max_bytes=0)  # what no run looks at is off
FIRST_MS: Final = 1_000  # of the core's clock
MOST_ACTIONS: Final = 200_000  # of one run; more is a loop
GONE: Final = frozenset({ChangeKind.EXPIRED, ChangeKind.DROPPED})


@dataclass(slots=True)
class Played:
    """The result of a run."""

    events: list[AnyEvent] = field(default_factory=list)
    # Over all partitions: how long the members that owned them were silent, until they came back or were removed.
    silent_partition_ms: int = 0
    ended_ms: int = 0  # since the epoch


def play(
    group: PlayedGroup, stimuli: Sequence[Stimulus], seed: int, on_append: OnAppend | None = None, until_ms: int = 0
) -> Played:
    """Play what happens to a group, in order of time, until it is quiet; with commits until `until_ms`.

    `on_append` gets the appends to the offsets log: records of the group and committed offsets. Raises PlayError if the
    coordinator refuses a member for good.
    """
    player = Player(group, stimuli, seed, on_append)
    player.run(until_ms)
    return player.played


@lru_cache(64)
def _config(*changed: tuple[str, Any]) -> Config:
    return replace(CONFIG, **dict(changed))


class Player:
    """The state of a run. Clients use `now_ms`, `draw`, `deviation`, `send`, `later`, `went` and `came_back`."""

    def __init__(self, group: PlayedGroup, stimuli: Sequence[Stimulus], seed: int, on_append: OnAppend | None) -> None:
        self.spec = group
        self.chance = Random(seed)
        self._random = self.chance.random
        self.join_ms, self.sync_ms, self.plan_ms, self._append_ms = (each.durations_ms() for each in group.reactions)
        self.played = Played()
        self.topics = dict(group.topics)
        self.topic_names = tuple(sorted(self.topics))
        self.partitions = self._all_partitions()
        self.clients = {each.name: ConsumerModel(self, each) for each in group.members}
        self.assigned: dict[str, Partitions] = {}  # by member id
        self.now_ms = FIRST_MS
        self._stimuli = sorted(stimuli, key=lambda each: each.at_ms)
        self._next = 0  # stimulus
        self._stimulus_ms = self._stimuli[0].at_ms if stimuli else NEVER
        self._first_wall_ms = self._stimuli[0].at_ms if stimuli else 0
        self._commit_ms = self._first_wall_ms + group.commit_every_ms if group.commit_every_ms else NEVER
        self._longest_interval_ms = max((each.heartbeat_interval_ms for each in group.members), default=0)
        self._heap: list[tuple[int, int, ConsumerModel | None, int, Callable[..., None], tuple[Any, ...]]] = []
        self._number = 0  # of actions
        self._on_append = on_append
        self._silent: dict[str, tuple[int, int]] = {}  # member id -> since when, and how many partitions it owns
        self._seen: object = None  # the rebalance that the clients are to hear of
        self.core = GroupCoordinator(
            _config(*group.broker.items()),
            partitions=1,
            new_member_uuid=lambda: f"{self.chance.getrandbits(128):032x}",
            topic_partition_exists=lambda topic, partition: True,
            wall_offset_ms=self._first_wall_ms - FIRST_MS,
            on_event=self._record,
        )
        self.core.load_begin(0)
        self.core.loaded(0, LoadedState.of((), OffsetStore(), 0), 0, FIRST_MS)
        self._shard = self.core.partition(0)
        self._groups = self.core.groups

    @property
    def group(self) -> Group | None:
        return self._groups.get(self.spec.group)

    # -- time ----------------------------------------------------------------------------------------------------

    def run(self, until_ms: int) -> None:
        """Run until all stimuli are over and the group is quiet."""
        core, heap = self.core, self._heap
        timer_ms = 0
        for _ in range(MOST_ACTIONS):
            outside_ms = min(self._stimulus_ms, self._commit_ms)
            if not heap and self._is_quiet():
                if outside_ms == NEVER or (outside_ms > until_ms and self._stimulus_ms == NEVER):
                    break
                self._skip_to(outside_ms)
            outside_ms = max(outside_ms - core.wall_offset_ms, self.now_ms)
            inside_ms = heap[0][0] if heap else NEVER
            if core.has_new_deadline or timer_ms <= self.now_ms:
                timer_ms = core.next_deadline_ms() or NEVER
            if timer_ms < inside_ms and timer_ms < outside_ms:
                self._advance(max(min(self._timer_ms(timer_ms), inside_ms, outside_ms), self.now_ms))
            elif inside_ms <= outside_ms:
                self.now_ms, _, client, run, action, arguments = heappop(heap)
                if client is None:
                    action(*arguments)
                else:
                    client.act(run, action, arguments)
            else:
                self.now_ms = outside_ms
                self._from_outside()
        else:
            raise PlayError(f"group {self.spec.group!r}: a loop of clients does not end; give it fewer stimuli")
        for since_ms, owned in self._silent.values():
            self.played.silent_partition_ms += owned * (self.now_ms - since_ms)
        self.played.ended_ms = self.now_ms + core.wall_offset_ms

    def _is_quiet(self) -> bool:
        for member_id in [each for each in self._silent if not self._is_known(each)]:
            self.came_back(member_id)  # a later run of a static member has taken its place
        return not self._silent and self._is_settled()

    def _is_known(self, member_id: str) -> bool:
        group = self.group
        return group is not None and (member_id in group.members or member_id in group.pending_join)

    def _is_settled(self) -> bool:
        if any(client.is_waiting for client in self.clients.values()):
            return False
        group = self.group
        return group is None or ((group.state is STABLE or group.state is EMPTY) and not group.in_flight)

    def _timer_ms(self, timer_ms: int) -> int:
        """Return the next time at which a timer of the core can do something; the wheel's next one is `timer_ms`.

        In a settled group this is the end of a silent member's session: heartbeats renew the others. It is `timer_ms`
        if a member has not used its id, has sent no SyncGroup, or has one that is held, and if the next heartbeat of a
        client tells it something.
        """
        group = self.group
        if group is None or group.pending_join or group.pending_sync or not self._is_settled():
            return timer_ms
        if any(client.is_out_of_step(group.generation) for client in self.clients.values()):
            return timer_ms
        silent = [group.members.get(member_id) for member_id in self._silent]
        deadlines_ms = [each.session_deadline_ms for each in silent if each is not None and each.parked_sync is None]
        return min(deadlines_ms, default=NEVER) if len(deadlines_ms) == len(silent) else timer_ms

    def _skip_to(self, wall_ms: int) -> None:
        """Let the wall clock go on to the next stimulus, and the core's for one heartbeat of each client."""
        core, interval_ms = self.core, self._longest_interval_ms
        quiet_ms = wall_ms - self.now_ms - core.wall_offset_ms
        if quiet_ms > interval_ms:
            self.now_ms += interval_ms
            core.wall_offset_ms = wall_ms - self.now_ms
            for client in self.clients.values():
                client.time_skipped(quiet_ms - interval_ms)

    def _advance(self, now_ms: int) -> None:
        """Run timers of the core. Heartbeats that were sent by then have renewed the sessions."""
        self.now_ms = now_ms
        for client in self.clients.values():
            client.renew_if_due(now_ms)
        self._execute(self.core.advance_clock(now_ms))
        while self.core.has_work:
            self._execute(self.core.work(now_ms))

    def later(
        self,
        delay_ms: int,
        client: ConsumerModel | None,
        run: int,
        action: Callable[..., None],
        arguments: tuple[Any, ...],
    ) -> None:
        """Run an action after a time; one of a client only in the same run of its process."""
        self._number += 1
        heappush(self._heap, (self.now_ms + delay_ms, self._number, client, run, action, arguments))

    def draw(self, values: tuple[int, ...]) -> int:
        """Return one of these values, each of which is as likely as the others."""
        return values[int(self._random() * len(values))]

    def deviation(self) -> float:
        """Return a value of the standard normal distribution."""
        return NORMAL[int(self._random() * len(NORMAL))]

    # -- requests and answers ------------------------------------------------------------------------------------

    def send(self, request: Any, ticket: Ticket) -> None:
        """Send a request to the core."""
        self._execute(self.core.handle(request, ticket, self.now_ms))

    def _execute(self, effects: Effects) -> None:
        for append in effects.appends:
            if self._on_append is not None:
                self._on_append(append, self.now_ms + self.core.wall_offset_ms)
            delay_ms = self.draw(self._append_ms)
            if delay_ms:
                self.later(delay_ms, None, 0, self._appended, (self._shard.next_offset,))
            else:
                self._appended(self._shard.next_offset)
        for ticket, response in effects.replies:
            client, run, member_id = ticket.session
            client.answered(run, member_id, response)
        group = self._groups.get(self.spec.group)
        if group is not None and group.state is PREPARING_REBALANCE and group.rebalance is not self._seen:
            self._seen = group.rebalance
            for client in self.clients.values():
                client.rebalance_begun()

    def _appended(self, high_watermark: int) -> None:
        self._execute(self.core.appended(0, high_watermark, self.now_ms))

    # -- from outside --------------------------------------------------------------------------------------------

    def _from_outside(self) -> None:
        wall_ms = self.now_ms + self.core.wall_offset_ms
        if self._stimulus_ms <= wall_ms:
            stimulus = self._stimuli[self._next]
            self._next += 1
            self._stimulus_ms = self._stimuli[self._next].at_ms if self._next < len(self._stimuli) else NEVER
            self._happen(stimulus)
            return
        self._commit_ms += self.spec.commit_every_ms
        offset = round((wall_ms - self._first_wall_ms) * self.spec.records_per_s / 1_000)
        for client in self.clients.values():
            client.commit(offset)

    def _happen(self, stimulus: Stimulus) -> None:
        if stimulus.action is StimulusAction.FORCE:
            client = next(iter(self.clients.values()))
            self.send(ForceRebalance(self.spec.group, stimulus.reason), Ticket((client, -1, "")))
        elif stimulus.action is StimulusAction.GROW:
            self.topics[stimulus.topic] = self.topics.get(stimulus.topic, 0) + stimulus.partitions
            self.topic_names = tuple(sorted(self.topics))
            self.partitions = self._all_partitions()
            group = self.group
            for client in self.clients.values():
                if group is not None and client.member_id and client.member_id == group.leader_id:
                    client.rejoin()
        else:
            self.clients[stimulus.member].happen(stimulus)

    def _all_partitions(self) -> Partitions:
        return tuple((topic, index) for topic, size in sorted(self.topics.items()) for index in range(size))

    # -- results -------------------------------------------------------------------------------------------------

    def went(self, member_id: str, owned: int) -> None:
        """Note that a member of the group is silent from now on. The group may have removed it before."""
        self.came_back(member_id)
        if self._is_known(member_id):
            self._silent[member_id] = (self.now_ms, owned)

    def came_back(self, member_id: str) -> None:
        """Note that a silent member, or its next run, is back, or that it is no member any more."""
        self._no_longer(member_id, self.now_ms)

    def _no_longer(self, member_id: str, now_ms: int) -> None:
        since_ms, owned = self._silent.pop(member_id, (now_ms, 0))
        self.played.silent_partition_ms += owned * (now_ms - since_ms)

    def _record(self, event: AnyEvent) -> None:
        if isinstance(event, Rebalance):
            self.played.events.append(event)
            for change in event.changes if self._silent else ():
                if change.kind in GONE:
                    ended_ms = event.at_ms + change.after_ms - self.core.wall_offset_ms
                    self._no_longer(change.member.member_id, ended_ms)
        elif event.times == 1:  # a repetition is counted in the same object
            self.played.events.append(event)
