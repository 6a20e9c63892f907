"""The ribbon of a group of this coordinator: generations, what was given up between them, and a rebalance that runs."""

from __future__ import annotations

from coordinator.console.model import UNOWNED, Ribbon
from coordinator.console.owners import ribbon_of
from coordinator.core.events.model import (
    Cause,
    ClientInfo,
    LiveGroup,
    LiveMember,
    Rebalance,
    RebalanceOutcome,
    Story,
    Trigger,
)
from coordinator.core.events.owners import GenerationOwners, Holder, MemberOwns, OwnersAnswer
from protocol.consumer import Assignment, TopicPartitions, encode_assignment


def holder(key: str, *partitions: int) -> Holder:
    assignment = encode_assignment(Assignment(assigned_partitions=[TopicPartitions("t", list(partitions))]), 0)
    return Holder(key, key.partition("-")[0], "10.0.0.1", assignment)


GENERATIONS = [
    GenerationOwners(100, 1, [], [holder("web-a", 0, 1)]),
    GenerationOwners(200, 2, [(180, "web-a")], [holder("web-a", 0), holder("app-b", 1)]),
]


def drawn(story: Story, generations: list[GenerationOwners] = GENERATIONS) -> Ribbon:
    found = ribbon_of(story, OwnersAnswer(at_ms=story.at_ms, generations=generations))
    assert found is not None
    return found


def spans(found: Ribbon) -> list[list[tuple[int, int, str]]]:
    names = [member.name for member in found.members]
    return [[(start, end, "" if who == UNOWNED else names[who]) for start, end, who in row.spans] for row in found.rows]


def rebalancing(state: str, protocol: str, *has_joined: str) -> Story:
    running = Rebalance(
        group="g",
        at_ms=250,
        trigger=Trigger(Cause.FORCED),
        outcome=RebalanceOutcome.RUNNING,
        previous_generation=2,
        generation=2,
    )
    members = [LiveMember(member=ClientInfo(each), has_joined=each in has_joined) for each in ("web-a", "app-b")]
    live = LiveGroup(
        group="g", at_ms=300, state=state, protocol=protocol, member_count=2, members=members, rebalance=running
    )
    return Story(at_ms=300, state=live)


def test_a_partition_has_no_owner_from_when_it_was_given_up_until_it_is_given_again() -> None:
    assert spans(drawn(Story(at_ms=300))) == [
        [(100, 180, "web"), (180, 200, ""), (200, 300, "web")],
        [(100, 180, "web"), (180, 200, ""), (200, 300, "app")],
    ]


def test_a_member_that_is_in_no_later_generation_loses_all_with_it() -> None:
    found = drawn(Story(at_ms=300), [*GENERATIONS, GenerationOwners(250, 3, [], [holder("web-a", 0)])])
    assert spans(found)[1][-1] == (250, 300, "")


def test_eager_members_that_have_rejoined_own_nothing_while_the_rebalance_runs() -> None:
    found = drawn(rebalancing("PreparingRebalance", "range", "app-b"))
    assert [row[-1] for row in spans(found)] == [(200, 300, "web"), (250, 300, "")]
    found = drawn(rebalancing("CompletingRebalance", "range"))
    assert [row[-1] for row in spans(found)] == [(250, 300, ""), (250, 300, "")]
    assert [member.is_member for member in found.members] == [True, True]


def test_cooperative_members_keep_what_they_own_while_the_rebalance_runs() -> None:
    found = drawn(rebalancing("PreparingRebalance", "cooperative-sticky", "web-a", "app-b"))
    assert [row[-1] for row in spans(found)] == [(200, 300, "web"), (200, 300, "app")]


def test_without_a_generation_there_is_no_ribbon_and_unknown_assignments_own_nothing() -> None:
    assert ribbon_of(Story(at_ms=1), OwnersAnswer(at_ms=1, generations=[])) is None
    odd = GenerationOwners(100, 1, [], [Holder("m", "c", "h", b"\x00\x00\xff")])
    assert drawn(Story(at_ms=300), [odd]).rows == []


def owns(at_ms: int, key: str, *partitions: int) -> MemberOwns:
    return MemberOwns(at_ms, key, key.partition("-")[0], "10.0.0.1", {"t": list(partitions)} if partitions else {})


def test_the_members_of_a_consumer_group_change_one_by_one() -> None:
    changes = [owns(100, "web-a", 0, 1), owns(180, "web-a", 0), owns(200, "app-b", 1), owns(250, "web-a")]
    found = ribbon_of(Story(at_ms=300), OwnersAnswer(at_ms=300, generations=[], changes=changes, changes_from_ms=100))
    assert found is not None and found.known_from_ms == 100
    assert spans(found) == [
        [(100, 250, "web"), (250, 300, "")],
        [(100, 180, "web"), (180, 200, ""), (200, 300, "app")],
    ]


def test_a_group_that_has_changed_its_protocol_has_both_times() -> None:
    changes = [owns(250, "web-a", 0), owns(250, "app-b", 1), owns(280, "app-b"), owns(290, "new-c", 1)]
    found = ribbon_of(
        Story(at_ms=300), OwnersAnswer(at_ms=300, generations=GENERATIONS, changes=changes, changes_from_ms=250)
    )
    assert found is not None and found.from_ms == 100
    assert spans(found)[1] == [(100, 180, "web"), (180, 200, ""), (200, 280, "app"), (280, 290, ""), (290, 300, "new")]
