"""Rules about clients that are refused: places taken by another process, joins, requests and commits."""

from __future__ import annotations

from typing import Final

from coordinator.core.events.model import ClientInfo, Incident, IncidentKind, LiveGroup, Story
from coordinator.core.events.words import duration
from coordinator.explain.verdict import Finding, GroupVerdict
from coordinator.explain.visits import incidents, key_of, latest, visits
from coordinator.explain.waiting import RECENT_MS
from coordinator.explain.words import clock_time, condition, since, times

NOW_MS: Final = 120_000  # a loop whose last turn was longer ago is over
WAR: Final = 3  # replacements; one or two are restarts
FASTEST_START_MS: Final = 1_000  # no process starts again, joins and ends more often than this for long
ENDLESS: Final = 5
STALE: Final = frozenset({"ILLEGAL_GENERATION", "STALE_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID"})


def shared_instance_id(story: Story) -> GroupVerdict | None:
    """Recognise two processes with one group.instance.id: they fence each other, or the former one lives on."""
    fenced = incidents(story, IncidentKind.FENCED, within_ms=RECENT_MS)
    for position, event in incidents(story, IncidentKind.STATIC_MEMBER_REPLACED, within_ms=RECENT_MS):
        instance_id = event.member.instance_id
        proofs = [number for number, each in fenced if each.member.instance_id == instance_id]
        one, other = _place(event.other), _place(event.member)
        is_war = event.times >= WAR and (one != other or _is_too_fast(story, event))
        if not proofs and not is_war:
            continue
        both = f"{one} and {other}" if one != other else f"both {one}"
        often = f", which replaced each other {times(event.times)}" if event.times > 1 else ""
        within = f" within {duration(latest(event) - event.at_ms)}" if event.last_ms else ""
        seem = "seem to have" if one == other and not proofs else "have"
        return GroupVerdict(
            code=Finding.SHARED_INSTANCE_ID,
            sentence=f"Two processes {seem} the group.instance.id {instance_id}: {both}{often}{within}",
            advice=(
                "Give each process a group.instance.id of its own (the pod or host name), or stop one of the two. Each "
                "replacement fences the other one, whose records are processed again."
            ),
            culprit=event.member,
            evidence=sorted([position, *proofs]),
            since_ms=event.at_ms,
        )
    return None


def _is_too_fast(story: Story, event: Incident) -> bool:
    """Return whether an observed member was replaced faster than a process starts again.

    Kafka keeps the client id and the host of the first run in its record, so that both processes look alike.
    """
    return bool(story.unknown) and latest(event) - event.at_ms < FASTEST_START_MS * (event.times - 1)


def static_restarts(story: Story) -> GroupVerdict | None:
    """Recognise a static member whose process starts again and again in one place, while none of its runs is fenced."""
    for position, event in incidents(story, IncidentKind.STATIC_MEMBER_REPLACED, within_ms=RECENT_MS):
        if event.times < WAR or _place(event.other) != _place(event.member):
            continue
        within = f" within {duration(latest(event) - event.at_ms)}" if event.last_ms else ""
        return GroupVerdict(
            code=Finding.RESTART_LOOP,
            sentence=(
                f"{event.member.full_name} was started again {times(event.times)}{within}; it keeps its partitions, "
                "because it has a group.instance.id"
            ),
            advice=(
                "Look at its own log and exit code: it crashes, or a supervisor restarts it. If it runs without a "
                "pause, two processes have this group.instance.id: give each one of its own."
            ),
            culprit=event.member,
            evidence=[position],
            since_ms=event.at_ms,
        )
    return None


def _place(client: ClientInfo) -> str:
    software = f" ({client.software})" if client.software else ""
    return f"{client.client_id or 'an unnamed client'} on {client.host}{software}"


def assignors_disjoint(story: Story) -> GroupVerdict | None:
    found = refused(story, IncidentKind.JOIN_REFUSED, "INCONSISTENT_GROUP_PROTOCOL")
    if found is None:
        return None
    position, event = found
    offered = ", ".join(event.offered) or "nothing that is known"
    common = _common_assignors(story.state)
    has = f", the group uses {', '.join(common)}" if common else ", which not all members have"
    return GroupVerdict(
        code=Finding.ASSIGNORS_DISJOINT,
        sentence=f"{_group_is(story)}; {event.member.full_name} cannot join it: it offers {offered}{has}",
        advice=(
            "Give all clients of the group one common entry in partition.assignment.strategy. To change it: first add "
            "the new one to all, restart them one by one, then remove the old one in the same way."
        ),
        culprit=event.member,
        evidence=[position],
        since_ms=event.at_ms,
    )


def _common_assignors(state: LiveGroup | None) -> list[str]:
    lists = [each.protocols for each in state.members] if state is not None else []
    return [name for name in lists[0] if all(name in each for each in lists)] if lists else []


def group_full(story: Story) -> GroupVerdict | None:
    found = refused(story, IncidentKind.JOIN_REFUSED, "GROUP_MAX_SIZE_REACHED")
    if found is None:
        return None
    position, event = found
    if any(visit.ended_ms > latest(event) for visit in visits(story)):
        return None  # there is room again
    members = story.state.member_count if story.state is not None else 0
    return GroupVerdict(
        code=Finding.GROUP_FULL,
        sentence=(
            f"Full: {event.member.full_name} was refused {times(event.times)} {since(event.at_ms, story)}, because the "
            f"group has its {members} members already (group.max.size)"
        ),
        advice="Raise group.max.size on the coordinator, or run fewer members; more than partitions are of no use.",
        culprit=event.member,
        evidence=[position],
        since_ms=event.at_ms,
    )


def unknown_member_loop(story: Story) -> GroupVerdict | None:
    for position, event in incidents(story, IncidentKind.UNKNOWN_MEMBER, within_ms=NOW_MS):
        if event.times < ENDLESS or _is_replaced(story, event.member):
            continue
        return GroupVerdict(
            code=Finding.UNKNOWN_MEMBER_LOOP,
            sentence=(
                f"{_group_is(story)}; {event.member.full_name} does not know that it is no member: its {event.api} was "
                f"answered {event.error} {times(event.times)} {since(event.at_ms, story)}"
            ),
            advice=(
                f"{event.member.name} does not join again after this answer, as a client has to: restart it, and "
                "update its library. It reads nothing until then."
            ),
            culprit=event.member,
            evidence=[position],
            since_ms=event.at_ms,
        )
    return None


def _is_replaced(story: Story, client: ClientInfo) -> bool:
    """Return whether a client is one of those that take a static member's place in turn."""
    replaced = incidents(story, IncidentKind.STATIC_MEMBER_REPLACED, within_ms=RECENT_MS)
    sides = [side for _, event in replaced for side in (event.member, event.other)]
    return any((side.client_id, side.host) == (client.client_id, client.host) for side in sides)


def stale_commits(story: Story) -> GroupVerdict | None:
    for position, event in incidents(story, IncidentKind.COMMIT_REFUSED, within_ms=RECENT_MS):
        if event.error not in STALE:
            continue
        last_at = clock_time(latest(event), story.at_ms)
        if event.generation < 0 and not event.member.member_id:
            did = f"commits without being a member: {event.error} {times(event.times)}, last at {last_at}"
            advice = "A consumer that assigns partitions by itself needs a group.id that no subscribed consumer uses."
        else:
            did = (
                f"committed {times(event.times)} after its partitions were given to others ({event.error}), last at "
                f"{last_at}: those records are read twice"
            )
            advice = (
                "Let it commit before it gives partitions up (in the callback for revoked partitions), and work on "
                "less between two commits."
            )
        return GroupVerdict(
            code=Finding.STALE_COMMITS,
            sentence=f"{_group_is(story)}; {event.member.full_name} {did}",
            advice=advice,
            culprit=event.member,
            evidence=[position],
            since_ms=event.at_ms,
        )
    return None


def refused(story: Story, kind: IncidentKind, error: str) -> tuple[int, Incident] | None:
    """Return the newest refusal of this kind of a client that has not joined since."""
    joined = {key_of(visit.member): visit.joined_ms for visit in visits(story)}
    for position, event in incidents(story, kind, within_ms=RECENT_MS):
        if event.error == error and joined.get(key_of(event.member), -1) <= latest(event):
            return position, event
    return None


def _group_is(story: Story) -> str:
    return f"The group is {condition(story)}"
