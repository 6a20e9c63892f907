"""The state stays within its limits, whatever the log holds, and is fast enough to follow it."""

from __future__ import annotations

import random
import time

import pytest

from coordinator.observe.limits import ObserverLimits
from coordinator.observe.offsets import CommittedOffsets
from coordinator.observe.state import ObservedGroups
from protocol.group_records import RecordKind, encode_key
from tests.observe.replay import Replay, recordings
from tests.observe.written import BEGIN_MS, WrittenLog, member

SMALL = ObserverLimits(
    groups=100,
    offsets=500,
    events_per_group=4,
    events=150,
    owner_changes_per_group=5,
    owner_changes=200,
    members_per_group=3,
)


def test_groups_that_wrote_least_lately_are_forgotten() -> None:
    log = WrittenLog(SMALL)
    for number in range(400):
        log.wait(1)
        log.commit(0, 1, group=f"simple-{number}")
        log.generation(member("web-1", [0]), number=1, group=f"group-{number}")
    groups = log.state.groups()
    assert len(groups) <= 2 * SMALL.groups and "group-399" in groups and "group-0" not in groups
    assert log.state.forgotten > 0
    assert sum(len(log.state.offsets(group)) for group in groups) <= SMALL.offsets
    assert log.state.story("group-399", log.now_ms) is not None


def test_offsets_are_bounded_and_counted_right() -> None:
    log = WrittenLog(SMALL)
    for number in range(300):
        log.commit(*range(10), group=f"g-{number}")
    kept = sum(len(log.state.offsets(group)) for group in log.state.groups())
    assert kept <= SMALL.offsets
    offsets = CommittedOffsets()
    chance = random.Random(1)
    for _ in range(300):
        count = chance.randrange(1, 6)
        offsets.add(
            [chance.choice("ab") for _ in range(count)],
            ["t"] * count,
            [chance.randrange(9) for _ in range(count)],
            [chance.choice([-1, 5]) for _ in range(count)],
            [1] * count,
        )
        assert offsets.kept == sum(len(offsets.of(group)) for group in "ab")


def test_owner_changes_are_bounded_and_still_tell_the_owners() -> None:
    log = WrittenLog(SMALL)
    for number in range(1, 200):
        log.wait(60)
        first, second = ([0], [1]) if number % 2 else ([1], [0])
        log.generation(member("web-1", first), member("web-2", second))
    changes = log.state.ownership("shop")
    assert len(changes) <= SMALL.owner_changes_per_group + 2
    owned = {change.key: change.partitions for change in changes}
    assert owned == log.state.owned_now("shop")
    assert BEGIN_MS < log.state.owners_known_from_ms("shop") <= log.now_ms
    assert len(log.story().events) <= SMALL.events_per_group


def test_new_members_each_minute_leave_nothing_behind() -> None:
    log = WrittenLog(SMALL)
    for run in range(1, 300):
        log.wait(60)
        log.generation(member("web-1", [0], run=run))
    assert len(log.state.owners("shop")) <= SMALL.owner_changes_per_group + 2


@pytest.mark.parametrize("seed", range(20))
def test_damaged_records_are_counted_and_never_fatal(seed: int) -> None:
    chance = random.Random(seed)
    names = list(recordings())
    lines = [line for name in chance.sample(names, 3) for line in Replay(name).lines if "key" in line]
    state = ObservedGroups()
    for line in chance.sample(lines, len(lines)):
        key, value = bytearray.fromhex(line["key"]), bytearray.fromhex(line["value"] or "")
        for data in (key, value):
            if data and chance.random() < 0.4:
                data[chance.randrange(len(data))] = chance.randrange(256)
            if chance.random() < 0.1:
                del data[chance.randrange(len(data) + 1) :]
        if bytes(key[:2]) not in (b"\0\0", b"\0\1"):
            state.record(line["at_ms"], bytes(key), bytes(value) if line["value"] else None)
    assert state.undecodable
    for group in state.groups():
        state.story(group, 2_000_000_000_000)
        state.ownership(group)


def test_records_of_unknown_kinds_are_counted_by_kind() -> None:
    state = ObservedGroups()
    for kind in (24, 99, 99, -3):
        state.record(1, kind.to_bytes(2, "big", signed=True) + b"\0\1g", b"\0\0")
    assert state.unknown_kinds == {24: 1, 99: 2, -3: 1} and not state.undecodable


def test_a_key_without_a_kind_is_counted() -> None:
    state = ObservedGroups()
    state.record(1, b"\0", b"")
    assert state.undecodable == 1


@pytest.mark.parametrize(("kind", "name"), [(RecordKind.SHARE_GROUP, "share"), (RecordKind.STREAMS_GROUP, "streams")])
def test_of_share_and_streams_groups_the_name_and_the_type_are_told(kind: RecordKind, name: str) -> None:
    state = ObservedGroups()
    key = encode_key(kind, "g")
    state.record(1, key, b"\0\0")
    state.record(1, encode_key(RecordKind.SHARE_MEMBER, "g", "m"), b"\0\0")
    state.caught_up()
    story = state.story("g", 2)
    assert state.type_of("g") == name and story is not None and story.state is not None and story.state.type == name
    assert "only its name and its type" in story.unknown[0]
    state.record(2, key, None)
    assert state.story("g", 3) is None


def test_a_hundred_thousand_commits_take_less_than_a_second() -> None:
    state = ObservedGroups()
    count = 100_000
    groups = [f"group-{number // 100 % 500}" for number in range(count)]
    partitions = [number % 100 for number in range(count)]
    columns = groups, ["orders"] * count, partitions, list(range(count)), [BEGIN_MS] * count
    state.commits(*columns)
    began = time.process_time()
    for first in range(0, count, 500):
        state.commits(*(column[first : first + 500] for column in columns))  # type: ignore[arg-type]
    took_s = time.process_time() - began
    assert took_s < 0.5, f"{took_s:.3f} s"
