"""Changes of ownership are kept up to a bound, and always tell the owners of every moment that is known."""

from __future__ import annotations

from coordinator.core.events.model import ClientInfo
from coordinator.core.events.ownership_log import OwnerChange, OwnershipLog
from coordinator.core.events.recorder import FlightRecorder


def client(name: str) -> ClientInfo:
    return ClientInfo(member_id=name, client_id=name)


def test_as_many_changes_of_a_group_are_kept_as_allowed_and_one_more_is_folded_into_the_begin() -> None:
    log = OwnershipLog(per_group=3, total=100)
    log.own("g", 1, client("A"), {"t": [0, 1]})
    log.own("g", 2, client("B"), {"t": [2]})
    log.own("g", 3, client("A"), {"t": [0]})
    assert (len(log.of("g")), log.known_from_ms("g")) == (3, 1)
    log.own("g", 4, client("B"), {"t": [1, 2]})
    assert log.known_from_ms("g") == 1  # the moment of the change that was folded
    assert log.of("g")[0] == OwnerChange(1, "A", {"t": [0, 1]})
    for at_ms in range(5, 9):
        log.own("g", at_ms, client("B"), {"t": [at_ms]})
    assert log.known_from_ms("g") == 5
    assert {change.key: change.partitions for change in log.of("g")[:2]} == {"A": {"t": [0]}, "B": {"t": [5]}}


def test_as_many_bytes_as_allowed_are_kept_of_consumer_groups_and_one_more_drops_of_the_least_active() -> None:
    size = 250 + 250 + 2 * 8  # of one change with one topic and two partitions
    recorder = FlightRecorder(per_group=10, total=10, groups=10, owners_bytes=3 * size)
    log = recorder.member_owners
    log.own("a", 1, client("A"), {"t": [0, 1]})
    log.own("b", 2, client("A"), {"t": [0, 1]})
    log.own("b", 3, client("A"), {"t": [2, 3]})
    assert len(log) == 3 * size
    log.own("b", 4, client("A"), {"t": [4, 5]})
    assert log.known_from_ms("a") == -1 and len(log.of("b")) == 3
    assert len(log) == 3 * size
    log.forget("b")
    assert len(log) == 0


def test_what_does_not_change_is_not_kept() -> None:
    log = OwnershipLog(per_group=3, total=3)
    log.own("g", 1, client("A"), {"t": [0]})
    log.own("g", 2, client("A"), {"t": [0]})
    log.own("g", 3, client("B"), {})
    assert log.of("g") == [OwnerChange(1, "A", {"t": [0]})]
