"""The rules of a rehearsal that need no server: phases, output, records that are sent again."""

from __future__ import annotations

import pytest

from coordinator.rehearse.callbacks import PartitionRelease
from coordinator.rehearse.output import printed_callbacks, refused_settings
from coordinator.rehearse.phases import GroupProtocol, phases
from coordinator.rehearse.repeats import sent_again
from coordinator.torture.watch import SentRecords

LIBRDKAFKA = (
    "Failed to create consumer: `heartbeat.interval.ms` is not supported for `group.protocol=consumer` or share "
    "consumer. It is defined broker side"
)
JAVA = "ConfigException: partition.assignment.strategy cannot be set when group.protocol=CONSUMER"


@pytest.mark.parametrize("copies", range(2, 10))
def test_each_phase_ends_with_its_protocols(copies: int) -> None:
    protocols = dict.fromkeys(range(1, copies + 1), "classic")
    ends = []
    for phase in phases(copies):
        assert phase.restarts, "a restart shows a rebalance"
        protocols.update({number: protocol.value for number, protocol in phase.restarts})
        ends.append(set(protocols.values()))
    assert ends == [{"classic"}, {"classic", "consumer"}, {"consumer"}, {"classic", "consumer"}, {"classic"}]


def test_a_copy_is_restarted_when_all_use_the_consumer_protocol() -> None:
    assert phases(2)[2].restarts == ((2, GroupProtocol.CONSUMER), (1, GroupProtocol.CONSUMER))


@pytest.mark.parametrize(
    ("output", "settings"),
    [
        (LIBRDKAFKA, ["heartbeat.interval.ms"]),
        (JAVA, ["partition.assignment.strategy"]),
        (f"{LIBRDKAFKA}\n{LIBRDKAFKA}\n{JAVA}", ["heartbeat.interval.ms", "partition.assignment.strategy"]),
        ("group.protocol = consumer\nsession.timeout.ms = 45000", []),
        ("session.timeout.ms is not supported", []),
        ("consumer.session.timeout.ms cannot be set when group.protocol=consumer", []),
        ("", []),
    ],
)
def test_a_refused_setting_is_found_in_the_output(output: str, settings: list[str]) -> None:
    assert [each.setting for each in refused_settings(output)] == settings


def test_callbacks_are_found_in_the_lines_that_name_them() -> None:
    output = (
        "on_assign [0]\nPartitions revoked: [0]\nonPartitionsLost(orders-1)\nassigned orders-2\nunassigned\n5 lostness"
    )
    assert printed_callbacks(output) == ["assigned", "revoked", "lost", "assigned"]


def sent(*rows: tuple[int, int, float]) -> list[SentRecords]:
    return [SentRecords(first, last, "copy", at_s) for first, last, at_s in rows]


@pytest.mark.parametrize(
    ("rows", "releases", "count"),
    [
        ([(0, 9, 1.0), (10, 19, 2.0)], [], 0),
        ([(0, 9, 1.0), (5, 9, 3.0)], [(2.5, 2.5)], 5),  # had them for 1.5 s
        ([(0, 9, 2.0), (5, 9, 3.0)], [(2.5, 2.5)], 0),  # for half a second
        ([(0, 9, 1.0), (5, 9, 30.0)], [(1.5, 1.5)], 0),  # however long no owner read them
        ([(0, 9, 1.0), (5, 9, 30.0)], [(1.5, 25.0)], 0),  # however long the owner took to give them up
        ([(0, 9, 1.0), (5, 9, 30.0)], [(0.5, 25.0)], 0),  # they came when it was told to
        ([(0, 9, 1.0), (5, 9, 3.0)], [], 5),  # the same owner, which went back
        ([(0, 9, 1.0), (5, 9, 3.0), (5, 9, 6.0)], [(2.5, 2.5), (5.0, 5.0)], 10),  # twice
        ([(5, 9, 3.0), (0, 9, 1.0)], [(2.5, 2.5)], 5),
    ],
)
def test_records_that_an_owner_had_for_a_second_are_counted_when_they_are_sent_again(
    rows: list[tuple[int, int, float]], releases: list[tuple[float, float]], count: int
) -> None:
    assert sent_again(sent(*rows), [PartitionRelease(0, "copy", *each) for each in releases], 0) == count


def test_records_that_were_sent_again_before_the_phase_are_not_counted() -> None:
    assert sent_again(sent((0, 9, 1.0), (5, 9, 3.0)), [PartitionRelease(0, "copy", 2.5, 2.5)], since_s=4) == 0


def test_a_client_that_gives_up_another_partition_processes_nothing() -> None:
    again = sent((0, 9, 1.0), (5, 9, 4.0))
    assert sent_again(again, [PartitionRelease(1, "copy", 1.1, 3.5)], 0) == 0
    assert sent_again(again, [PartitionRelease(1, "other", 1.1, 3.5)], 0) == 5
