"""Rules about a group that changes its protocol: members that stay behind, refused clients, and the way back."""

from __future__ import annotations

from typing import Final

from coordinator.core.events.model import Incident, IncidentKind, Story
from coordinator.explain.past import stable_for
from coordinator.explain.refusals import NOW_MS, refused
from coordinator.explain.verdict import Finding, GroupVerdict
from coordinator.explain.visits import incidents
from coordinator.explain.waiting import RECENT_MS
from coordinator.explain.words import and_more, clock_time, condition, count, times

FLAPS: Final = 2
REFUSED_BY: Final = ("GROUP_ID_NOT_FOUND", "UNSUPPORTED_ASSIGNOR", "INVALID_REGULAR_EXPRESSION")
ADVICE: Final = {
    "GROUP_ID_NOT_FOUND": (
        "Remove what the reason names: group.consumer.migration.policy of the coordinator, the size of the group, or "
        "the custom assignor of the classic members. A group without members takes any protocol."
    ),
    "UNSUPPORTED_ASSIGNOR": (
        "Leave group.remote.assignor of the client out, name one of group.consumer.assignors, or offer the assignor on "
        "the coordinator."
    ),
    "INVALID_REGULAR_EXPRESSION": "Write the pattern in the syntax of RE2, without look-around and back-references.",
}


def mixed(story: Story) -> GroupVerdict | None:
    """Recognise members of the classic protocol in a consumer group, which keep its migration from ending."""
    state = story.state
    if state is None or not state.classic_members or state.rebalance is not None:
        return None
    left = [each.member for each in state.members if each.is_classic]
    if not left:
        return None
    use = "uses" if state.classic_members == 1 else "use"
    return GroupVerdict(
        code=Finding.MIGRATION,
        sentence=(
            f"Stable for {stable_for(story)}; {state.classic_members} of {count(state.member_count, 'member')} still "
            f"{use} the classic protocol: {and_more(left[0].full_name, state.classic_members - 1)}"
        ),
        advice=(
            "To end the migration, set group.protocol=consumer there and restart; a client whose library lacks it has "
            "to be updated first. Both protocols in one group work for as long as you like."
        ),
        culprit=left[0],
        since_ms=state.since_ms,
    )


def refused_join(story: Story) -> GroupVerdict | None:
    """Recognise a client of the consumer protocol that cannot join."""
    for error in REFUSED_BY:
        found = refused(story, IncidentKind.JOIN_REFUSED, error)
        if found is None:
            continue
        position, event = found
        what = event.reason or event.error
        if error == "UNSUPPORTED_ASSIGNOR":
            what = f"there is no assignor {', '.join(event.offered) or 'of this name'} here"
        return GroupVerdict(
            code=Finding.JOIN_REFUSED,
            sentence=(
                f"The group is {condition(story)}; {event.member.full_name} cannot join it with the consumer protocol: "
                f"{what.rstrip('.')}"
            ),
            advice=ADVICE[error],
            culprit=event.member,
            evidence=[position],
            since_ms=event.at_ms,
        )
    return None


def instance_taken(story: Story) -> GroupVerdict | None:
    """Recognise a client whose instance id is held by a member that has not left."""
    for position, event in incidents(story, IncidentKind.FENCED, within_ms=NOW_MS):
        if event.error != "UNRELEASED_INSTANCE_ID" or not _still_holds(story, event):
            continue
        return GroupVerdict(
            code=Finding.SHARED_INSTANCE_ID,
            sentence=(
                f"{event.member.full_name} on {event.member.host} was refused {times(event.times)}: its "
                f"group.instance.id is held by {_place(event)}, which has not left"
            ),
            advice=(
                "Give each process a group.instance.id of its own (the pod or host name). If the holder is a former "
                "run that was killed, the new one can join when that session ends, or when you remove it "
                "(`coordinator groups kick`)."
            ),
            culprit=event.member,
            evidence=[position],
            since_ms=event.at_ms,
        )
    return None


def _place(event: Incident) -> str:
    other = event.other
    return f"{other.client_id or other.member_id} on {other.host}"


def _still_holds(story: Story, event: Incident) -> bool:
    members = story.state.members if story.state is not None else []
    return any(each.member.member_id == event.other.member_id for each in members)


def went_back(story: Story) -> GroupVerdict | None:
    """Recognise a group that has become a classic one again, perhaps not for the first time."""
    for position, event in incidents(story, IncidentKind.GROUP_DOWNGRADED, within_ms=RECENT_MS):
        if story.state is None or story.state.type != "classic":
            return None
        last_ms = event.last_ms or event.at_ms
        again = f", {times(event.times)} so far," if event.times >= FLAPS else ","
        return GroupVerdict(
            code=Finding.MIGRATION,
            sentence=(
                f"A classic group again since {clock_time(last_ms, story.at_ms)}{again} because the last member of the "
                f"consumer protocol is gone: {event.member.full_name}"
            ),
            advice=(
                "If you roll back, all is well. Else start the clients with group.protocol=consumer again: the first "
                "one converts the group."
            ),
            culprit=event.member,
            evidence=[position],
            since_ms=last_ms,
        )
    return None
