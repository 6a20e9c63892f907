"""Derives the members of a group, what happened to them and how fast its clients are from its recorded events.

A member that joins is a process that starts; one that returns with the same client id, host and instance id is the same
process. One whose session ended fell silent a session timeout earlier, and was paused if it returned after that. One
that left because of max.poll.interval.ms polled too slowly since that time. What the events do not name (members beyond
ten of a kind, members from before the recording) is filled up by number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import median, quantiles
from typing import Final

from coordinator.config.config import Config
from coordinator.core.events.model import (
    AnyEvent,
    Cause,
    Change,
    ChangeKind,
    ClientInfo,
    Incident,
    IncidentKind,
    Rebalance,
    RebalanceOutcome,
)
from coordinator.whatif.assignors import ASSIGNORS, COOPERATIVE
from coordinator.whatif.spec import Latency, PlayedGroup, PlayedMember, Reactions, Stimulus, StimulusAction

WARM_UP_MS: Final = 3_600_000  # before the first event: the group starts, and becomes stable
DEFAULTS: Final = Config()
DEFAULT_SESSION_MS: Final = 45_000
DEFAULT_REBALANCE_MS: Final = 300_000
DEFAULT_INTERVAL_MS: Final = 3_000
LONGEST_INTERVAL_MS: Final = 10_000
PUSHED_MS: Final = 500  # members that rejoin within less, in the median, had parked heartbeats
QUIET_MS: Final = 3_000  # between rebalances; within less, the second one does not tell the interval
SECOND_ROUND_MS: Final = 10_000  # until members that gave up partitions have rejoined
LONG_MS: Final = 1_800_000  # until the heartbeats of members that joined together have any phase
FEWEST: Final = 3  # samples of a model; with fewer the defaults hold
MOST_REPLACEMENTS: Final = 50  # of one incident
POLL_TIMEOUTS: Final = ("poll timeout", "max.poll.interval", "max poll interval")  # in reasons of LeaveGroup
REPEATED: Final = frozenset({Cause.LEADER_REJOINED, Cause.FORCED, Cause.APPEND_FAILED, Cause.OVER_FULL, Cause.UNKNOWN})
LEFT: Final = frozenset({ChangeKind.LEFT, ChangeKind.GONE, ChangeKind.EXPELLED})
Identity = tuple[str, str, str]  # client id, host, instance id


class RecordingError(ValueError):
    """Events that cannot be replayed; the message says why."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A group as it was recorded, ready to be played."""

    group: PlayedGroup
    stimuli: tuple[Stimulus, ...]
    since_ms: int  # the events from here on count


@dataclass(slots=True)
class _Process:
    """A consumer process. One from before the recording may have no identity yet."""

    name: str
    identity: Identity | None
    member_id: str = ""
    software: str = ""
    is_up: bool = True
    since_ms: int = 0
    session_ms: int = 0
    rebalance_ms: int = 0
    away: tuple[StimulusAction, int, int] | None = (
        None  # what took it away and since when, with the time of its removal
    )


def recording_of(events: Sequence[AnyEvent], topics: Mapping[str, int] | None = None) -> Recording:
    """Return what was recorded of one group; `topics` if they are known. Raises RecordingError."""
    rebalances = [event for event in events if isinstance(event, Rebalance)]
    if not rebalances:
        raise RecordingError("no rebalance of it is recorded in that time; take a longer one with --since")
    if any(event.type != "classic" for event in rebalances):
        raise RecordingError("it is a consumer group (KIP-848); only classic groups are modelled")
    reader = _Reader(events)
    for event in sorted(events, key=lambda each: each.at_ms):
        reader.take(event)
    return reader.recording(rebalances, topics)


class _Reader:
    """Follows the processes of a group from event to event."""

    def __init__(self, events: Sequence[AnyEvent]) -> None:
        self._stimuli: list[Stimulus] = []
        self._processes: list[_Process] = []
        self._first_ms = min(event.at_ms for event in events)
        self._previous: Rebalance | None = None
        self._named = 0
        self._partitions = -1
        self._first_partitions = -1

    def take(self, event: AnyEvent) -> None:
        """Take the next event."""
        if isinstance(event, Incident):
            if event.what is IncidentKind.STATIC_MEMBER_REPLACED:
                self._replaced(event)
            return
        if self._previous is None:
            for _ in range(event.members_before):
                self._new(None, self._first_ms - WARM_UP_MS)
        for change in event.changes:
            self._changed(change, event)
        for member in (event.leader, event.last_to_join):
            self._note(member)
        if event.trigger.cause in REPEATED:
            self._rejoined(event)
        self._waited(event)
        self._count(event)
        if event.partitions >= 0:
            self._partitions = event.partitions
            self._first_partitions = self._first_partitions if self._first_partitions >= 0 else event.partitions
        self._previous = event

    # -- processes -----------------------------------------------------------------------------------------------

    def _new(self, client: ClientInfo | None, at_ms: int) -> _Process:
        process = _Process(f"member-{self._named}", None if client is None else _identity(client))
        self._named += 1
        self._processes.append(process)
        self._start(process, client, at_ms)
        return process

    def _start(self, process: _Process, client: ClientInfo | None, at_ms: int) -> None:
        process.is_up, process.since_ms, process.away = True, at_ms, None
        if client is not None:
            process.member_id, process.software = client.member_id, client.software or process.software
        self._add(at_ms, StimulusAction.START, process)

    def _add(
        self, at_ms: int, action: StimulusAction, process: _Process | None = None, for_ms: int = 0, reason: str = ""
    ) -> None:
        self._stimuli.append(Stimulus(at_ms, action, process.name if process else "", for_ms, reason))

    def _note(self, client: ClientInfo) -> _Process | None:
        """Return the running process of a member; one from before the recording gets its identity."""
        if not client.is_known:
            return None
        running = [each for each in self._processes if each.is_up]
        found = next((each for each in running if each.member_id == client.member_id), None)
        for identity in (_identity(client), None):
            alike = (each for each in running if each.identity == identity)
            found = found or next((each for each in alike if client.instance_id or not each.member_id), None)
        if found is not None:
            found.identity = found.identity or _identity(client)
            found.member_id, found.software = client.member_id, client.software or found.software
        return found

    def _count(self, event: Rebalance) -> None:
        """Start or stop processes that no event names, so that their number is that of the members."""
        if event.outcome is RebalanceOutcome.INTERRUPTED or event.join_ms < 0:
            return
        running = [each for each in self._processes if each.is_up]
        for _ in range(event.members_after - len(running)):
            self._new(None, event.at_ms)
        for process in sorted(running, key=lambda each: each.identity is not None)[event.members_after :][::-1]:
            process.is_up = False
            self._add(event.at_ms, StimulusAction.STOP, process)

    # -- what happened -------------------------------------------------------------------------------------------

    def _changed(self, change: Change, event: Rebalance) -> None:
        at_ms = event.at_ms + change.after_ms
        if change.kind is ChangeKind.JOINED:
            self._joined(change, at_ms)
            return
        process = self._note(change.member) or self._new(change.member, self._first_ms - WARM_UP_MS)
        process.session_ms = change.session_timeout_ms or process.session_ms
        process.rebalance_ms = change.rebalance_timeout_ms or process.rebalance_ms
        if change.kind is ChangeKind.RESUBSCRIBED:
            self._resubscribed(process, event, at_ms)
        elif change.kind is ChangeKind.REPLACED:
            self._restart(process, at_ms, 1)
        else:
            self._went(process, change, event, at_ms)

    def _joined(self, change: Change, at_ms: int) -> None:
        identity = _identity(change.member)
        free = [each for each in self._processes if not each.is_up and each.identity == identity]
        if not free:
            self._new(change.member, at_ms)
            self._processes[-1].session_ms = change.session_timeout_ms
            self._processes[-1].rebalance_ms = change.rebalance_timeout_ms
            return
        process = max(free, key=lambda each: each.away[2] if each.away else 0)
        away = process.away
        if away is None or away[0] is StimulusAction.STOP:
            self._start(process, change.member, at_ms)
            return
        action, since_ms, _ = away
        self._add(since_ms, action, process, at_ms - since_ms)
        process.is_up, process.since_ms, process.away = True, at_ms, None
        process.member_id = change.member.member_id

    def _went(self, process: _Process, change: Change, event: Rebalance, at_ms: int) -> None:
        """Note what took a member away. If it returns, `_joined` writes down for how long."""
        process.is_up = False
        rebalance_ms = process.rebalance_ms or event.rebalance_timeout_ms or DEFAULT_REBALANCE_MS
        if change.kind in LEFT and not any(text in change.reason for text in POLL_TIMEOUTS):
            process.away = (StimulusAction.STOP, at_ms, at_ms)
            self._add(at_ms, StimulusAction.STOP, process, reason=change.reason)
        elif change.kind in LEFT:
            process.away = (StimulusAction.SLOW_POLL, max(at_ms - rebalance_ms, process.since_ms + 1), at_ms)
        elif change.kind is ChangeKind.EXPIRED:
            session_ms = process.session_ms or DEFAULT_SESSION_MS
            since_ms = max(at_ms - session_ms + _interval_of(session_ms) // 2, process.since_ms + 1)
            process.away = (StimulusAction.PAUSE, since_ms, at_ms)
            self._merge_next_run(process, since_ms)
        elif event.trigger.cause is Cause.NO_SYNC:
            began_ms = self._previous.at_ms if self._previous is not None else at_ms
            process.away = (StimulusAction.NO_SYNC, began_ms - 1, at_ms)
        else:  # it did not rejoin in time
            process.away = (StimulusAction.SLOW_POLL, max(event.at_ms - 1, process.since_ms + 1), at_ms)

    def _merge_next_run(self, process: _Process, since_ms: int) -> None:
        """Take a process that is new since a crash, with the same identity, for the next run of the crashed one."""
        for other in self._processes:
            stimuli = [each for each in self._stimuli if each.member == other.name]
            is_next = other.is_up and other.identity == process.identity and other.since_ms > since_ms
            if is_next and other is not process and len(stimuli) == 1:
                self._add(since_ms, StimulusAction.CRASH, process)
                self._stimuli.remove(stimuli[0])
                self._processes.remove(other)
                process.member_id, process.session_ms = other.member_id, other.session_ms
                self._start(process, None, other.since_ms)
                return

    def _resubscribed(self, process: _Process, event: Rebalance, at_ms: int) -> None:
        """Note a changed subscription, unless this is the second round of a cooperative assignor."""
        trigger, before = event.trigger, self._previous
        is_cause = trigger.cause is Cause.PROTOCOLS_CHANGED and trigger.member.member_id == process.member_id
        is_alone = before is None or before.at_ms + before.took_ms + SECOND_ROUND_MS < event.at_ms
        if (is_cause and (trigger.subscription_changed or is_alone)) or "sticky" not in event.protocol:
            self._add(at_ms, StimulusAction.RESUBSCRIBE, process)

    def _rejoined(self, event: Rebalance) -> None:
        more = max(event.partitions - self._partitions, 0) if self._partitions >= 0 else 0
        if event.trigger.cause is Cause.LEADER_REJOINED:
            self._stimuli.append(Stimulus(event.at_ms, StimulusAction.GROW, partitions=more))
        else:
            self._add(event.at_ms, StimulusAction.FORCE)

    def _replaced(self, event: Incident) -> None:
        process = self._note(event.member) or self._new(event.member, self._first_ms - WARM_UP_MS)
        times = min(event.times, MOST_REPLACEMENTS)
        apart_ms = max(event.last_ms - event.at_ms, 0) // max(times - 1, 1)
        for number in range(times):
            self._restart(process, event.at_ms + number * apart_ms, 0)

    def _restart(self, process: _Process, at_ms: int, for_ms: int) -> None:
        self._add(at_ms - for_ms, StimulusAction.RESTART, process, for_ms)

    def _waited(self, event: Rebalance) -> None:
        """Note a slow poll of the member for which the join phase waited."""
        joined = {change.member.member_id for change in event.changes if change.kind is ChangeKind.JOINED}
        process = self._note(event.last_to_join)
        if process is not None and event.last_join_ms > LONGEST_INTERVAL_MS and process.member_id not in joined:
            self._add(event.at_ms - 1, StimulusAction.SLOW_POLL, process, event.last_join_ms)

    # -- the result ----------------------------------------------------------------------------------------------

    def recording(self, rebalances: Sequence[Rebalance], topics: Mapping[str, int] | None) -> Recording:
        """Return the recording, after the last event."""
        last_ms = max(event.at_ms + event.took_ms for event in rebalances)
        for process in self._processes:
            if not process.is_up and process.away is not None and process.away[0] is not StimulusAction.STOP:
                action, since_ms, gone_ms = process.away
                self._add(since_ms, action, process, last_ms - since_ms + WARM_UP_MS)
                self._add(gone_ms + 1, StimulusAction.CRASH, process)
        interval_ms, is_parked, join = _hearing(rebalances)
        software = Counter(each.software for each in self._processes)
        sessions = [each.session_ms for each in self._processes if each.session_ms]
        session_ms = round(median(sessions)) if sessions else DEFAULT_SESSION_MS
        rebalance_ms = max((event.rebalance_timeout_ms for event in rebalances), default=0) or DEFAULT_REBALANCE_MS
        default = PlayedMember(
            "",
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            is_parked=is_parked,
            heartbeat_interval_ms=_interval_of(session_ms, interval_ms),
            software=software.most_common(1)[0][0],
        )
        size = self._first_partitions if self._first_partitions > 0 else max(self._partitions, 1)
        known = dict(topics) if topics else {"topic": size}
        grown = next(iter(known))
        stimuli = [replace(each, topic=grown) if each.action is StimulusAction.GROW else each for each in self._stimuli]
        append = _latency([event.sync_ms - event.plan_ms for event in _planned(rebalances)], Latency(1))
        plan = _latency([event.plan_ms for event in _planned(rebalances)], Reactions().plan)
        group = PlayedGroup(
            rebalances[0].group,
            tuple(_spec(each, default) for each in self._processes),
            known,
            _assignor(rebalances),
            Reactions(join=join, plan=plan, append=append),
            broker=_broker(rebalances, sessions),
        )
        stimuli.sort(key=lambda each: each.at_ms)
        return Recording(group, tuple(stimuli), self._first_ms - WARM_UP_MS // 2)


def _interval_of(session_ms: int, interval_ms: int = DEFAULT_INTERVAL_MS) -> int:
    """Return a heartbeat interval: at most a third of the session timeout, as Kafka advises."""
    return max(min(interval_ms, session_ms // 3), 1)


def _identity(client: ClientInfo) -> Identity:
    return client.client_id, client.host, client.instance_id


def _spec(process: _Process, default: PlayedMember) -> PlayedMember:
    client_id, host, instance_id = process.identity or ("consumer", "127.0.0.1", "")
    return replace(
        default,
        name=process.name,
        client_id=client_id,
        host=host,
        instance_id=instance_id or None,
        software=process.software or default.software,
        session_timeout_ms=process.session_ms or default.session_timeout_ms,
        rebalance_timeout_ms=process.rebalance_ms or default.rebalance_timeout_ms,
    )


def _broker(rebalances: Iterable[Rebalance], sessions: Sequence[int]) -> dict[str, int]:
    """Return the settings of the coordinator, as far as the events tell them."""
    found = {"group_min_session_timeout_ms": min(DEFAULTS.group_min_session_timeout_ms, *sessions, 1 << 31)}
    first = [event.join_ms for event in rebalances if event.members_before == 0 and event.join_ms >= 0]
    if first:
        found["group_initial_rebalance_delay_ms"] = min(first)
    return found


def _assignor(rebalances: Iterable[Rebalance]) -> str:
    name = Counter(event.protocol for event in rebalances if event.protocol).most_common(1)
    chosen = name[0][0] if name else "range"
    return chosen if chosen in ASSIGNORS else COOPERATIVE if "cooperative" in chosen else "sticky"


def _planned(rebalances: Iterable[Rebalance]) -> list[Rebalance]:
    return [event for event in rebalances if event.outcome is RebalanceOutcome.STABLE and event.plan_ms >= 0]


def _latency(found: Sequence[float], default: Latency) -> Latency:
    """Return the distribution of these durations; what too few of them do not tell is that of the default."""
    if len(found) < FEWEST:
        return Latency(float(median(found)), default.spread) if found else default
    logs = [log(max(each, 0.5)) for each in found]
    quarters = quantiles(logs, n=4, method="inclusive")
    return Latency(float(median(found)), min((quarters[2] - quarters[0]) / 1.35, 1.0))


def _hearing(rebalances: Sequence[Rebalance]) -> tuple[int, bool, Latency]:
    """Return the heartbeat interval, whether heartbeats were parked, and how long members take to rejoin.

    Members hear of a rebalance at their next heartbeat. Those that joined together a while ago send theirs together,
    and hear after half an interval in the mean. After a long time each has its own phase, and the last of n hears after
    n/(n+1) of it. A rebalance soon after another one tells nothing.
    """
    intervals: list[float] = []
    waits: list[float] = []
    ended_ms = -LONG_MS
    for event in rebalances:
        others = event.members_after - event.counts.get(ChangeKind.JOINED.value, 0)
        quiet_ms, ended_ms = event.at_ms - ended_ms, event.at_ms + event.took_ms
        is_told = event.trigger.cause not in (Cause.PROTOCOLS_CHANGED, Cause.STATIC_MEMBER_REPLACED)
        is_usual = event.members_before > 0 and others > 0 and 0 <= event.last_join_ms <= LONGEST_INTERVAL_MS
        if is_told and is_usual and quiet_ms >= QUIET_MS:
            waits.append(event.last_join_ms)
            intervals.append(event.last_join_ms * ((others + 1) / others if quiet_ms >= LONG_MS else 2))
    if waits and median(waits) < PUSHED_MS:
        return DEFAULT_INTERVAL_MS, True, _latency(waits, Reactions().join)
    if len(waits) < FEWEST:
        return DEFAULT_INTERVAL_MS, False, Reactions().join
    longest_ms = max(waits) * (1 + 1 / len(waits))  # no wait is longer than the interval
    interval_ms = min(max(round(min(median(intervals), longest_ms) / 500) * 500, 500), LONGEST_INTERVAL_MS)
    return interval_ms, False, Reactions().join
