"""Changes of a group derived from its records: members that came and went, and partitions that moved."""

from __future__ import annotations

from pathlib import Path

from coordinator.cli.history.screen import moves, ranges
from coordinator.history.rebalances import GenerationMember, GroupChange, Kind, changes, member_names
from tests.history.stories import Story


def life(story: Story, directory: Path) -> list[GroupChange]:
    return changes(story.past(directory)[1])


def test_a_group_is_created_filled_emptied_and_deleted(tmp_path: Path) -> None:
    found = life(Story().created().members("a").members("a", "b").empty().deleted().members("c"), tmp_path)
    assert [each.kind for each in found] == [
        Kind.CREATED,
        Kind.REBALANCED,
        Kind.REBALANCED,
        Kind.EMPTY,
        Kind.DELETED,
        Kind.REBALANCED,
    ]
    assert [(each.came, each.went) for each in found[1:]] == [
        (("a",), ()),
        (("b",), ()),
        ((), ("a", "b")),
        ((), ()),
        (("c",), ()),
    ]


def test_moved_partitions_have_the_old_and_the_new_owner(tmp_path: Path) -> None:
    story = Story().members("a", owning={"a": {"t": [0, 1, 2, 3], "u": [0]}})
    story.members("a", "b", owning={"a": {"t": [0, 1], "u": [0]}, "b": {"t": [2, 3]}}).empty()
    found = life(story, tmp_path)
    assert moves(found[0].moved) == ["t 0-3: unassigned → a", "u 0: unassigned → a"]
    assert moves(found[1].moved) == ["t 2-3: a → b"]
    assert moves(found[2].moved) == ["t 0-1: a → unassigned", "t 2-3: b → unassigned", "u 0: a → unassigned"]


def test_static_member_with_a_new_member_id_counts_as_restarted_only(tmp_path: Path) -> None:
    owning = {"a1": {"t": [0]}, "a2": {"t": [0]}, "b": {"t": [1]}}
    story = Story().members("b", owning=owning, a1="static")
    story.generation -= 1
    story.members("b", owning=owning, a2="static")
    replaced = life(story, tmp_path)[-1]
    assert (replaced.kind, replaced.restarted) == (Kind.STATIC_MEMBER_REPLACED, ("static",))
    assert (replaced.came, replaced.went, replaced.moved) == ((), (), ())
    story.members("b", owning=owning, a1="static")
    rebalanced = life(story, tmp_path / "later")[-1]
    assert (rebalanced.kind, rebalanced.restarted, rebalanced.came) == (Kind.REBALANCED, ("static",), ())


def test_record_that_repeats_the_previous_one_is_no_change(tmp_path: Path) -> None:
    story = Story().members("a")
    story.generation -= 1
    assert len(life(story.members("a"), tmp_path)) == 1
    assert len(life(Story().deleted().deleted(), tmp_path / "deleted")) == 0


def test_dynamic_member_that_rejoins_is_a_new_member(tmp_path: Path) -> None:
    found = life(Story().members("a1").members("a2"), tmp_path)
    assert [(each.came, each.went) for each in found] == [
        (("a",), ()),
        (("a-a2------",), ("a-a1------",)),  # the same client id, so part of the member id follows
    ]


def member(member_id: str, client_id: str, instance: str | None = None) -> GenerationMember:
    return GenerationMember(member_id, instance, client_id, "/h", ())


def test_names_are_short_and_unique() -> None:
    members = [
        member("web-11111111-aaaa", "web"),
        member("web-22222222-bbbb", "web"),
        member("cron-33333333-cccc", "cron"),
        member("anything", "static-client", "instance-7"),
        member("no-client-id", ""),
    ]
    assert list(member_names(members).values()) == [
        "web-11111111",
        "web-22222222",
        "cron",
        "instance-7",
        "no-client-id",
    ]


def test_runs_of_partitions_are_written_as_ranges() -> None:
    assert ranges([3, 1, 2, 7, 9, 10]) == "1-3, 7, 9-10"
    assert ranges([5]) == "5"
