"""The model of a consumer of the classic protocol: JoinGroup, SyncGroup, heartbeats, close, silence, slow polls.

A heartbeat is sent only if its answer matters. A healthy member hears of a rebalance at its next heartbeat, or at once
if its heartbeat is parked, and its session is renewed as its heartbeats would do. A slow poll delays the JoinGroup, and
the member leaves when max.poll.interval.ms is over. A paused member finds its answers when it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.effects import ClientSoftware, Ticket
from coordinator.core.group.heartbeat import HeartbeatTemplate
from coordinator.core.group.join import JoinGroup
from coordinator.whatif.assignors import ASSIGNORS, COOPERATIVE, Partitions, decoded, encoded, subscription
from coordinator.whatif.spec import PlayedMember, Stimulus, StimulusAction
from protocol.error_codes import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse

if TYPE_CHECKING:
    from coordinator.whatif.player import Player

CONSUMER: Final = "consumer"
# A heartbeat is late by a millisecond in a second or so, more or less. Members that joined together send theirs at the
# same time at first, and at any time after a while.
DRIFT: Final = 0.001
CLOSED: Final = "the consumer is being closed"
POLL_TIMEOUT: Final = "consumer poll timeout has expired."  # as Kafka's clients say it
BEGINS_ANEW: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})


class PlayError(Exception):
    """A run cannot go on; the message says why and what to change."""


class ConsumerModel:
    """One consumer process. `run` counts what makes earlier actions and answers void."""

    def __init__(self, player: Player, spec: PlayedMember) -> None:
        self._player = player
        self.spec = spec
        self.member_id = ""
        self.is_waiting = False  # for the answers to JoinGroup and SyncGroup
        self._generation = -1
        self._owned: Partitions = ()
        self._run = 0
        self._is_up = False
        self._is_paused = False
        self._missed: list[tuple[Callable[..., None], tuple[Any, ...]]] = []  # what it does when it goes on
        self._rejoins = False
        self._former_id = ""  # of the previous run of a static member
        self._polls_ms = 0  # its next poll, if it is slow
        self._beat_ms = 0  # one of its heartbeats
        self._parks_from_ms = 0
        self._template: HeartbeatTemplate | None = None  # while it has a generation
        self._is_in_generation = False
        self._silent_ms = -1  # it falls silent for so long before its next SyncGroup
        self._version = 0  # of its subscription
        self._software = ClientSoftware(*spec.software.partition(" ")[::2])

    def happen(self, stimulus: Stimulus) -> None:
        """Let something happen to it."""
        _ACTIONS[stimulus.action](self, stimulus)

    # -- life ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        if not self._is_up:
            self._is_up = True
            self._join_anew()

    def stop(self, reason: str) -> None:
        """Close: a dynamic member leaves the group, a static one only ends."""
        if self._is_up and self.spec.instance_id is None:
            member_id = self.member_id
            self._end()
            self._leave(member_id, reason or CLOSED)
        else:
            self.crash()

    def crash(self) -> None:
        """End without a word."""
        if self._is_up:
            self._go_silent()
            if self.spec.instance_id is not None:
                self._former_id = self.member_id or self._former_id
            self._end()

    def restart(self, after_ms: int, reason: str) -> None:
        """Close, and start again after a time."""
        self.stop(reason)
        self._player.later(after_ms, None, 0, self.start, ())

    def pause(self, for_ms: int) -> None:
        """Be silent for a time, and then go on."""
        if self._is_up and not self._is_paused:
            self._go_silent()
            self._is_paused = True
            self._player.later(for_ms, None, 0, self._go_on, (self._run,))

    def poll_slowly(self, for_ms: int) -> None:
        """Process for a time without a poll. The client leaves when max.poll.interval.ms is over."""
        limit_ms = self.spec.rebalance_timeout_ms
        if self._is_up:
            self._polls_ms = self._player.now_ms + for_ms
            self._later(for_ms, self._polled)
            if for_ms > limit_ms:
                self._later(limit_ms, self._poll_timed_out, for_ms - limit_ms)

    def _polled(self) -> None:
        self._polls_ms = 0

    def lose_sync(self, for_ms: int) -> None:
        """Be silent for a time before the next SyncGroup."""
        self._silent_ms = for_ms

    def resubscribe(self) -> None:
        """Rejoin with another subscription."""
        self._version += 1
        self.rejoin()

    def _go_silent(self) -> None:
        self._renew(self._player.now_ms)
        if self.member_id and not self._is_paused:
            keeps = self._is_in_generation or self._is_cooperative
            self._player.went(self.member_id, len(self._owned) if keeps else 0)

    def _go_on(self, run: int) -> None:
        if run != self._run or not self._is_paused:
            return
        self._is_paused = False
        self._player.came_back(self.member_id)
        missed, self._missed = self._missed, []
        for action, arguments in missed:
            action(*arguments)
        if self._is_in_generation and not self.is_waiting:
            self._beat()

    def _poll_timed_out(self, for_ms: int) -> None:
        """Leave the group; a static member stops its heartbeats instead, as in Kafka's clients."""
        if self.spec.instance_id is not None:
            self.pause(for_ms)
            return
        member_id = self.member_id
        self._forget()
        self._leave(member_id, POLL_TIMEOUT)
        self._later(for_ms, self._join_anew)

    def _leave(self, member_id: str, reason: str) -> None:
        """Send a LeaveGroup. What was sent before is answered to a process that has ended."""
        if member_id:
            self._player.came_back(member_id)
            member = MemberIdentity(member_id=member_id, group_instance_id=None, reason=reason)
            self._send(LeaveGroupRequest(group_id=self._player.spec.group, members=[member]))

    def _forget(self) -> None:
        """Forget the group. Answers and actions of before are void."""
        self._run += 1
        self.member_id = ""
        self._owned = ()
        self._template = None
        self.is_waiting = self._rejoins = self._is_in_generation = False

    def _end(self) -> None:
        self._forget()
        self._is_up = self._is_paused = False
        self._missed.clear()
        self._polls_ms = 0

    # -- time ----------------------------------------------------------------------------------------------------

    def _later(self, delay_ms: int, action: Callable[..., None], *arguments: Any) -> None:
        self._player.later(delay_ms, self, self._run, action, arguments)

    def _react(self, durations_ms: tuple[int, ...], action: Callable[..., None], *arguments: Any) -> None:
        player = self._player
        player.later(player.draw(durations_ms), self, self._run, action, arguments)

    def act(self, run: int, action: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """Do something unless the process has ended since; one that is paused does it when it goes on."""
        if run == self._run:
            if self._is_paused:
                self._missed.append((action, arguments))
            else:
                action(*arguments)

    def time_skipped(self, skipped_ms: int) -> None:
        """Send the heartbeats of a time that the core's clock has left out. Their phase has drifted."""
        now_ms, drift = self._player.now_ms, self._player.deviation() * DRIFT
        since_ms = now_ms - self._beat_ms + round(skipped_ms * (1 + drift))
        self._beat_ms = now_ms - since_ms % self.spec.heartbeat_interval_ms
        self._parks_from_ms = 0
        if self._template is not None:
            self._template.renew(self._beat_ms)

    def renew_if_due(self, now_ms: int) -> None:
        """Renew the session if its timer would end it by now."""
        template = self._template
        if template is None or template.member.session_deadline_ms <= now_ms:
            self._renew(now_ms)

    def _renew(self, now_ms: int) -> None:
        """Renew the session as the heartbeats up to now have done. During a rebalance one is sent."""
        if self._is_in_generation and not self._is_paused:
            last_ms = now_ms - (now_ms - self._beat_ms) % self.spec.heartbeat_interval_ms
            if self._template is None or not self._template.renew(last_ms):
                self._beat()

    def is_out_of_step(self, generation: int) -> bool:
        """Return whether its next heartbeat tells it that the group, now in this generation, went on without it."""
        if not self._is_in_generation or self._is_paused:
            return False
        template = self._template
        return template is None or template.generation != generation or template.member.is_gone

    def rebalance_begun(self) -> None:
        """Hear of a rebalance: from the parked heartbeat, or at the next heartbeat; rejoin at the next poll."""
        if self._is_in_generation and not self.is_waiting:
            now_ms, interval_ms = self._player.now_ms, self.spec.heartbeat_interval_ms
            if self.spec.is_parked and now_ms >= self._parks_from_ms:
                delay_ms = 0
            else:
                delay_ms = interval_ms - (now_ms - self._beat_ms) % interval_ms
            self._later(max(delay_ms, self._polls_ms - now_ms), self.rejoin)

    # -- requests ------------------------------------------------------------------------------------------------

    @property
    def _is_cooperative(self) -> bool:
        return self._player.spec.assignor == COOPERATIVE

    def _send(self, request: Any, *, may_be_held: bool = False) -> None:
        spec = self.spec
        ticket = Ticket(
            (self, self._run, self.member_id),
            client_id=spec.client_id,
            client_host=f"/{spec.host}",
            client_software=self._software,
        )
        ticket.may_be_held = may_be_held
        self._player.send(request, ticket)

    def rejoin(self) -> None:
        """Send a JoinGroup after the time that the client takes for it."""
        if self._is_in_generation and not self._rejoins:
            self._rejoins = True
            self._react(self._player.join_ms, self._join)

    def _join_anew(self) -> None:
        self._forget()
        self._rejoins = True
        self._join()

    def _join(self) -> None:
        if not self._rejoins or self.is_waiting:
            return
        self._rejoins = False
        self.is_waiting = True
        self._is_in_generation = False
        self._template = None
        spec, player = self.spec, self._player
        owned, version = (self._owned, 1) if self._is_cooperative else ((), 0)
        metadata = subscription(player.topic_names, owned, version, b"%d" % self._version)
        request = JoinGroupRequest(
            group_id=player.spec.group,
            session_timeout_ms=spec.session_timeout_ms,
            rebalance_timeout_ms=spec.rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=spec.instance_id,
            protocol_type=CONSUMER,
            protocols=[JoinGroupRequestProtocol(name=player.spec.assignor, metadata=metadata)],
        )
        self._send(JoinGroup(request, member_id_required=True, knows_skip_assignment=True))

    def _sync(self, assignments: list[SyncGroupRequestAssignment]) -> None:
        if self._silent_ms >= 0:
            for_ms, self._silent_ms = self._silent_ms, -1
            self.pause(for_ms)
            self._missed.append((self._sync, (assignments,)))
            return
        request = SyncGroupRequest(
            group_id=self._player.spec.group,
            generation_id=self._generation,
            member_id=self.member_id,
            group_instance_id=self.spec.instance_id,
            protocol_type=CONSUMER,
            protocol_name=self._player.spec.assignor,
            assignments=assignments,
        )
        self._send(request, may_be_held=self.spec.is_parked)

    def _plan(self, members: list[JoinGroupResponseMember]) -> None:
        """Compute the assignments, as the leader, and send them."""
        player = self._player
        ids = [each.member_id for each in sorted(members, key=lambda each: each.group_instance_id or each.member_id)]
        owned = {each: player.assigned.get(each, ()) for each in ids}
        plan = ASSIGNORS[player.spec.assignor](ids, owned, player.partitions)
        self._sync([SyncGroupRequestAssignment(member_id=each, assignment=encoded(plan[each])) for each in ids])

    def _beat(self) -> None:
        self._send(
            HeartbeatRequest(
                group_id=self._player.spec.group,
                generation_id=self._generation,
                member_id=self.member_id,
                group_instance_id=self.spec.instance_id,
            )
        )

    def commit(self, offset: int) -> None:
        """Commit this offset of each of its partitions."""
        if not self._is_in_generation or self._is_paused or not self._owned:
            return
        topics: dict[str, OffsetCommitRequestTopic] = {}
        for topic, index in self._owned:
            topics.setdefault(topic, OffsetCommitRequestTopic(name=topic)).partitions.append(
                OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
            )
        self._send(
            OffsetCommitRequest(
                group_id=self._player.spec.group,
                generation_id_or_member_epoch=self._generation,
                member_id=self.member_id,
                group_instance_id=self.spec.instance_id,
                topics=list(topics.values()),
            )
        )

    # -- answers -------------------------------------------------------------------------------------------------

    def answered(self, run: int, member_id: str, response: Any) -> None:
        """Take an answer. One to a process that has ended, or is paused, tells what the silent member has."""
        take = _ANSWERS.get(type(response))
        if take is None:
            return
        if (run != self._run or self._is_paused) and not response.error_code:
            if isinstance(response, JoinGroupResponse):
                self._player.went(response.member_id, 0)
            elif isinstance(response, SyncGroupResponse):
                self._player.went(member_id, len(decoded(response.assignment)))
        self.act(run, take, (self, response))

    def _joined(self, response: JoinGroupResponse) -> None:
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            self.is_waiting, self._rejoins = False, True
            self._join()
        elif response.error_code:
            self._refused(ErrorCode(response.error_code), "JoinGroup")
        else:
            self.member_id, self._generation = response.member_id, response.generation_id
            player = self._player
            if response.leader == self.member_id and not response.skip_assignment:
                self._react(player.plan_ms, self._plan, response.members)
            else:
                self._react(player.sync_ms, self._sync, [])

    def _synced(self, response: SyncGroupResponse) -> None:
        if response.error_code:
            self._refused(ErrorCode(response.error_code), "SyncGroup")
            return
        player, now_ms = self._player, self._player.now_ms
        before, self._owned = self._owned, decoded(response.assignment)
        player.assigned[self.member_id] = self._owned
        if self._former_id:
            player.came_back(self._former_id)
            self._former_id = ""
        self.is_waiting, self._is_in_generation = False, True
        self._beat_ms, self._parks_from_ms = now_ms, now_ms + self.spec.heartbeat_interval_ms
        self._template = player.core.heartbeat_template(
            player.spec.group, self.member_id, self.spec.instance_id, self._generation
        )
        if self._template is None:
            self.rebalance_begun()
        elif self._is_cooperative and not set(before).issubset(self._owned):
            self.rejoin()

    def _beaten(self, response: HeartbeatResponse) -> None:
        if response.error_code and response.error_code != ErrorCode.REBALANCE_IN_PROGRESS:
            self._refused(ErrorCode(response.error_code), "Heartbeat")

    def _refused(self, error: ErrorCode, api: str) -> None:
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            self.is_waiting, self._is_in_generation = False, True
            self.rejoin()
        elif error in BEGINS_ANEW:
            self._join_anew()
        elif error is ErrorCode.FENCED_INSTANCE_ID:
            self._end()
        else:
            raise PlayError(
                f"{api} of {self.spec.name!r} is refused with {error.name}; give it settings that the coordinator takes"
            )


_ACTIONS: Final[Mapping[StimulusAction, Callable[[ConsumerModel, Stimulus], None]]] = MappingProxyType(
    {
        StimulusAction.START: lambda client, stimulus: client.start(),
        StimulusAction.STOP: lambda client, stimulus: client.stop(stimulus.reason),
        StimulusAction.CRASH: lambda client, stimulus: client.crash(),
        StimulusAction.PAUSE: lambda client, stimulus: client.pause(stimulus.for_ms),
        StimulusAction.RESTART: lambda client, stimulus: client.restart(stimulus.for_ms, stimulus.reason),
        StimulusAction.SLOW_POLL: lambda client, stimulus: client.poll_slowly(stimulus.for_ms),
        StimulusAction.NO_SYNC: lambda client, stimulus: client.lose_sync(stimulus.for_ms),
        StimulusAction.RESUBSCRIBE: lambda client, stimulus: client.resubscribe(),
    }
)
_ANSWERS: Final[Mapping[type, Callable[[ConsumerModel, Any], None]]] = MappingProxyType(
    {
        JoinGroupResponse: ConsumerModel._joined,
        SyncGroupResponse: ConsumerModel._synced,
        HeartbeatResponse: ConsumerModel._beaten,
    }
)
