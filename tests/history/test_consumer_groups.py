"""The past of KIP-848 groups from their records: states, changes and pages are those of the group in memory then."""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from pathlib import Path

import pytest

from coordinator.cli.history.screen import moves
from coordinator.cli.main import main
from coordinator.history.extract import extract
from coordinator.history.moment import page_at
from coordinator.history.rebalances import GroupChange, GroupType, Kind, changes
from coordinator.history.tables import load_group
from protocol.error_codes import ErrorCode
from tests.core.consumer_group.test_migration import classic_group, rejoin
from tests.core.consumer_group.test_random_groups import Client, steps
from tests.history.consumer_worlds import Watched, view_of
from tests.support.consumer_world import ConsumerWorld


def life(watched: Watched, directory: Path) -> list[GroupChange]:
    return changes(load_group(watched.source(directory), "g").records)


def random_life(seed: int) -> Watched:
    dice = random.Random(seed)
    world = ConsumerWorld({"t1": 3, "t2": 2, "a1": 1})
    clients = [
        Client(world, f"m{number}", f"i{number}" if number < 2 else None, random.Random(seed + number))
        for number in range(4)
    ]
    watched = Watched(world)
    watched.look()
    for _ in steps(world, clients, dice):
        watched.look()
    return watched


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("extracted", [False, True], ids=["the log", "parquet and the log"])
def test_the_states_are_those_of_the_group_in_memory(seed: int, tmp_path: Path, *, extracted: bool) -> None:
    watched = random_life(seed)
    source = watched.source(tmp_path)
    if extracted:
        assert len(extract(source)) > 2
    records = load_group(source, "g").records
    ends = [record.log_offset for record in records]
    assert len(records) > 30
    for end, expected in watched.seen.items():
        before = bisect_right(ends, end - 1)
        assert view_of(records[before - 1] if before else None) == expected


def two_members() -> Watched:
    """A has all partitions, B comes, A gives two of them up, B takes them over, and A leaves."""
    world = ConsumerWorld({"t": 4})
    watched = Watched(world)
    world.beat("A", 0, topics=["t"], client_id="web")
    watched.look()
    world.advance("1s")
    world.beat("B", 0, topics=["t"], client_id="cron")
    world.advance("1s")
    world.beat("A", 2, client_id="web")
    world.advance("1s")
    world.beat("A", 2, owned={"t": [0, 1]}, client_id="web")
    world.advance("1s")
    world.beat("B", 3, client_id="cron")
    world.advance("1s")
    world.beat("A", -1)
    world.advance("1s")
    world.beat("B", 3, client_id="cron")
    watched.look()
    return watched


def test_a_change_says_who_came_and_which_partitions_moved(tmp_path: Path) -> None:
    found = life(two_members(), tmp_path)
    assert [(each.kind, each.record.generation, each.record.state) for each in found] == [
        (Kind.REBALANCED, 2, "Stable"),
        (Kind.REBALANCED, 3, "Reconciling"),
        (Kind.RECONCILED, 3, "Reconciling"),
        (Kind.RECONCILED, 3, "Stable"),
        (Kind.REBALANCED, 4, "Assigning"),
        (Kind.RECONCILED, 4, "Stable"),
    ]
    assert [(each.came, each.went) for each in found] == [
        (("web",), ()),
        (("cron",), ()),
        ((), ()),
        ((), ()),
        ((), ("web",)),
        ((), ()),
    ]
    assert [moves(each.moved) for each in found] == [
        ["t 0-3: unassigned → web"],
        [],
        ["t 2-3: web → unassigned"],
        ["t 2-3: unassigned → cron"],
        ["t 0-1: web → unassigned"],
        ["t 0-1: unassigned → cron"],
    ]


def test_the_command_lists_them_and_json_has_targets_and_epochs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = two_members().source(tmp_path)
    words = ["history", "rebalances", "g", "--data-dir", str(source.data_dir)]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "reconciled" in printed and "t 2-3: web → unassigned" in printed
    assert main([*words, "--json"]) == 0
    second = json.loads(capsys.readouterr().out)[1]
    assert (second["type"], second["state"], second["generation"]) == ("consumer", "Reconciling", 3)
    a, b = second["members"]
    assert (a["name"], a["epoch"], len(a["partitions"]), len(a["target"])) == ("web", 2, 4, 2)
    assert (b["name"], b["epoch"], b["partitions"], len(b["target"])) == ("cron", 3, [], 2)


def test_a_static_member_that_comes_back_is_a_restart(tmp_path: Path) -> None:
    world = ConsumerWorld({"t": 2})
    watched = Watched(world)
    world.beat("A", 0, topics=["t"], instance_id="i")
    world.beat("A", -2, instance_id="i")
    world.beat("A2", 0, topics=["t"], instance_id="i")
    watched.look()
    found = life(watched, tmp_path)
    assert [each.kind for each in found] == [Kind.REBALANCED, Kind.STATIC_MEMBER_REPLACED]
    assert found[1].restarted == ("i",) and not found[1].moved


def test_an_emptied_group_and_its_deletion(tmp_path: Path) -> None:
    world = ConsumerWorld({"t": 2})
    watched = Watched(world)
    world.beat("A", 0, topics=["t"])
    world.beat("A", -1)
    assert world.delete_groups("g").answer.results[0].error_code == 0
    watched.look()
    found = life(watched, tmp_path)
    assert [each.kind for each in found] == [Kind.REBALANCED, Kind.EMPTY, Kind.DELETED]


def there_and_back() -> tuple[Watched, set[str]]:
    """Return a classic group that a member of the consumer protocol joined and left, and its classic member ids."""
    world = ConsumerWorld({"t": 4})
    watched = Watched(world)
    one, two = classic_group(world, ({"t": [0, 1]}, {"t": [2, 3]}))
    world.beat("A", 0, topics=["t"])
    rejoin(one, {"t": [0]})
    rejoin(two, {"t": [2, 3]})
    world.beat("A", -1)
    watched.look()
    return watched, {one.member_id, two.member_id}


def test_a_group_that_changes_its_protocol_is_one_group(tmp_path: Path) -> None:
    watched, member_ids = there_and_back()
    records = load_group(watched.source(tmp_path), "g").records
    assert not any(record.is_tombstone for record in records)
    found = changes(records)
    upgrade = next(each for each in found if each.record.type is GroupType.CONSUMER)
    assert (len(upgrade.came), upgrade.went, upgrade.moved) == (1, (), ())
    assert [each.is_classic for each in upgrade.record.members].count(True) == 2
    assert records[-1].type is GroupType.CLASSIC, "the last one is of the classic group that it is again"
    assert {each.member_id for each in records[-1].members} == member_ids


def test_a_topic_without_a_name_is_called_by_its_id(tmp_path: Path) -> None:
    watched = two_members()
    source = watched.source(tmp_path)
    (source.data_dir / "topics.json").unlink()
    found = changes(load_group(source, "g").records)
    assert moves(found[0].moved) == ["AAAAAAAAAAAAAAAAAAAAAQ 0-3: unassigned → web"]
    (source.data_dir / "t-0").mkdir()
    (source.data_dir / "t-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    found = changes(load_group(source, "g").records)
    assert moves(found[0].moved) == ["t 0-3: unassigned → web"], "as a Kafka has it"


@pytest.mark.parametrize("extracted", [False, True], ids=["the log", "parquet and the log"])
def test_a_page_shows_the_members_and_owners_of_a_moment(tmp_path: Path, *, extracted: bool) -> None:
    source = two_members().source(tmp_path)
    then = {record.timestamp_ms: record for record in load_group(source, "g").records}
    if extracted:
        extract(source)
    pages = [page_at([source], "g", at_ms) for at_ms in then]
    for page, record in zip(pages, then.values(), strict=True):
        state = page.story.state
        assert state is not None
        assert (state.type, state.state, state.generation) == ("consumer", record.state, record.generation)
        assert {each.member.member_id for each in state.members} == {each.member_id for each in record.members}
        assert state.partitions == 4 or record.state != "Stable"
    assert {record.state for record in then.values()} == {"Stable", "Reconciling", "Assigning"}
    last = pages[-1].ribbon
    assert last is not None and [each.key for each in last.members if each.is_member] == ["B"]


def test_a_failed_heartbeat_is_no_change(tmp_path: Path) -> None:
    world = ConsumerWorld({"t": 2})
    watched = Watched(world)
    world.beat("A", 0, topics=["t"])
    world.failing_with = ErrorCode.NOT_ENOUGH_REPLICAS
    world.beat("B", 0, topics=["t"])
    world.failing_with = None
    watched.look()
    assert len(life(watched, tmp_path)) == 1
