"""The figures of a real daemon with real groups, as promtool and the parsers of OpenMetrics read them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_classic

from protocol.error_codes import ErrorCode
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.prometheus import free_port, promtool, scrape
from tests.support.simple_group import commit
from tests.support.topics_wire import batch, produce_request, produced
from tests.support.wire import call

pytestmark = pytest.mark.integration

NAMES = ('a"b\\c\nd', "\x00\x1b[31m", "größe 💥", "{le=1} 5 # EOF", "x" * 30_000)
OPENMETRICS = "application/openmetrics-text; version=1.0.0,text/plain;version=0.0.4;q=0.5"


def by_group(port: int, name: str) -> dict[str, float]:
    """Return the figures of one name by group."""
    return {
        sample.labels["group"]: sample.value
        for family in parse_classic(scrape(port))
        for sample in family.samples
        if sample.name == name
    }


@pytest.fixture(scope="module")
def http_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, http_port: int) -> Iterator[Daemon]:
    directory: Path = tmp_path_factory.mktemp("daemon")
    with Daemon(directory, topics=("orders:1",), http=f"127.0.0.1:{http_port}") as daemon:
        for _ in range(5):
            answer = call(daemon.port, produce_request(batch()), 9)
            assert produced(answer).error_code == ErrorCode.NONE
        for name in NAMES:
            commit(daemon.port, name, 2)
        eventually(lambda: len(by_group(http_port, "coordinator_group_members")) == len(NAMES), "all groups are shown")
        yield daemon


def test_promtool_has_nothing_to_complain_of(daemon: Daemon, http_port: int) -> None:
    promtool("check", "metrics", stdin=scrape(http_port))


def test_openmetrics_are_served_with_units_and_an_end(daemon: Daemon, http_port: int) -> None:
    body = scrape(http_port, OPENMETRICS)
    families = {family.name: family for family in parse_openmetrics(body)}
    assert body.endswith("\n# EOF\n")
    assert "_created" not in body
    assert families["process_cpu_seconds"].unit == "seconds"
    assert families["coordinator_group_lag_seconds"].unit == "seconds"
    assert {family.name for family in parse_classic(scrape(http_port))} == families.keys()


def test_an_accept_header_that_names_no_known_version_is_answered(daemon: Daemon, http_port: int) -> None:
    assert scrape(http_port, "application/openmetrics-text; version=x").endswith("# EOF\n")
    assert "# EOF" not in scrape(http_port, "text/html").splitlines()


def test_every_group_is_shown_under_its_name_with_its_lag(daemon: Daemon, http_port: int) -> None:
    lag = by_group(http_port, "coordinator_group_lag_offsets")
    assert set(lag.values()) == {3}
    assert {'a"b\\c\nd', "\\u0000\\u001b[31m", "größe 💥", "{le=1} 5 # EOF"} <= lag.keys()
    assert max(map(len, lag)) <= 120


def test_lag_in_seconds_is_known_after_a_restart(daemon: Daemon, http_port: int) -> None:
    """The newest batches are in memory only after they were produced, so their time is read from the disk."""
    before = by_group(http_port, "coordinator_group_lag_seconds")
    assert min(before.values()) > 1_000_000  # the records are dated 2023
    daemon.stop()
    daemon.start()
    eventually(lambda: by_group(http_port, "coordinator_group_lag_seconds").keys() == before.keys(), "times are read")
