"""Warnings about groups: who is waited for, and who fences whom, once for each group and then counted."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from coordinator.core.events.model import ClientInfo, Incident, IncidentKind
from coordinator.server.line_limit import LineLimit
from tests.support.edge import Edge

SLOW = ClientInfo("slow-1-uuid", "", "slow-1", "pod-b", "librdkafka 2.16")
ONE, OTHER = (ClientInfo(f"shop-{host}", "shop", "app", host) for host in ("pod-a", "pod-b"))


@pytest.fixture
def edge(tmp_path: Path) -> Edge:
    return Edge({}, log_dirs=str(tmp_path))


def test_slow_rebalance_is_said_with_whom_it_waits_for_and_how_long_at_most(
    edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    slow = Incident(
        group="g",
        at_ms=1_000,
        what=IncidentKind.REBALANCE_SLOW,
        member=SLOW,
        reason="joins",
        more=2,
        waited_ms=10_000,
        at_most_ms=290_000,
    )
    edge.runtime.on_event(slow)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (
        "rebalance waits Group g has been rebalancing for 10 s; it waits for slow-1 (pod-b, librdkafka 2.16) "
        "and 2 more, at most 4 m 50 s more."
    )
    assert record.fields["host"] == "pod-b" and record.fields["ms"] == 10_000  # type: ignore[attr-defined]


def test_slow_disk_is_said_without_a_client(edge: Edge, caplog: pytest.LogCaptureFixture) -> None:
    edge.runtime.on_event(
        Incident(group="g", at_ms=1, what=IncidentKind.REBALANCE_SLOW, reason="disk", waited_ms=10_000)
    )
    assert caplog.records[0].getMessage().endswith("it waits for the disk of the coordinator.")


def replaced(group: str, times: int) -> Incident:
    return Incident(
        group=group,
        at_ms=1_000,
        what=IncidentKind.STATIC_MEMBER_REPLACED,
        member=ONE,
        other=OTHER,
        times=times,
        last_ms=1_000 + 500 * times if times > 1 else 0,
    )


def test_fencing_is_said_with_both_hosts_once_a_minute_for_each_group(
    edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    limit = LineLimit(lambda: now[0])
    for group in ("g", "h"):
        for power in range(7):
            edge.runtime.on_event(replaced(group, 2**power))
    passed = [record.getMessage() for record in caplog.records if limit.filter(record)]
    assert passed == [
        f"fencing Group {group}: app on pod-a and app on pod-b have one group.instance.id, shop, and take each "
        "other's place, 2 times within 1 s. Give each process an id of its own."
        for group in ("g", "h")
    ]
    now[0] += 61.0
    caplog.clear()
    edge.runtime.on_event(replaced("g", 128))
    assert limit.filter(caplog.records[0])
    assert "128 times within 1 m 4 s" in caplog.text


def test_a_static_member_that_restarts_once_is_no_warning(edge: Edge, caplog: pytest.LogCaptureFixture) -> None:
    edge.runtime.on_event(replaced("g", 1))
    assert not caplog.records
