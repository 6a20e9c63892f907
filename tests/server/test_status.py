"""The status of a daemon that has just begun to start."""

from __future__ import annotations

from coordinator.server.status import status_of


def test_a_daemon_without_a_runtime_is_not_ready_and_says_so_in_its_metrics() -> None:
    status = status_of(None, None, ready=False, stopping=False, started_at=0.0)
    assert (status.ready, status.reason) == (False, "starting")
    assert [(each.name, each.value) for each in status.metrics if not hasattr(each, "buckets")] == [
        ("coordinator_ready", 0)
    ]
