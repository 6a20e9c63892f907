"""Quix Streams: an application is stopped, started again, and goes on where it was.

pip install kafka-group-coordinator quixstreams pytest
pytest test_quixstreams.py
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from quixstreams import Application

from coordinator.testing import Coordinator


def make_app(servers: str, state_dir: Path) -> Application:
    """The application: it makes a bill of each order, with the tax."""
    app = Application(
        servers,
        consumer_group="shop",
        auto_offset_reset="earliest",
        state_dir=state_dir,
        consumer_poll_timeout=0.1,
        loglevel="WARNING",
    )
    orders = app.dataframe(app.topic("orders", value_deserializer="json"))
    orders.apply(lambda order: {**order, "total": order["price"] * 119 // 100}).to_topic(app.topic("bills"))
    return app


@pytest.mark.coordinator(topics={"orders": 1, "bills": 1})
def test_goes_on_where_it_stopped(coordinator: Coordinator, tmp_path: Path) -> None:
    coordinator.produce("orders", [json.dumps({"price": price}) for price in (100, 200, 300, 400)])

    first = make_app(coordinator.bootstrap_servers, tmp_path).run(count=2, timeout=10)
    assert [bill["total"] for bill in first] == [119, 238]
    assert coordinator.committed("shop") == {("orders", 0): 2}

    coordinator.restart()

    second = make_app(coordinator.bootstrap_servers, tmp_path).run(count=2, timeout=10)
    assert [bill["total"] for bill in second] == [357, 476]
    assert coordinator.committed("shop") == {("orders", 0): 4}
