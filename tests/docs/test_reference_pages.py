"""The generated pages are those of the code; errors and metrics are compared with what the server names and shows."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from coordinator.cli import reference_doc
from coordinator.server.api import errors_doc
from tests.docs import metrics_page
from tests.docs.blocks import ROOT
from tests.docs.metrics_page import SOURCES, metrics_of
from tests.docs.stage import _free_port
from tests.support.daemon import Daemon

# Packages whose errors are answers to clients. The others ask a server, or judge one.
ANSWERING = ("config", "core", "security", "server", "storage", "telemetry")
WITH_FIRST_VALUE = frozenset(  # metrics of a daemon that appear with their first value
    {
        "coordinator_telemetry_exported_total",  # with telemetry.otlp.endpoint
        "coordinator_telemetry_refused_total",
        "kafka_coordinator_group_rebalance_total",
    }
)
WITH_LEASE = re.compile(r"coordinator_cluster_(has_lease|renewal_seconds|\w+_total)")  # with a log.engine
BY_GROUP = "coordinator_group_"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("cli-reference.md", reference_doc.text),
        ("errors.md", errors_doc.text),
        ("metrics.md", metrics_page.text),
    ],
)
def test_page_is_what_the_code_says(page: str, text: Callable[[], str]) -> None:
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == text(), "run: make generate"


def test_each_error_that_the_server_names_has_a_row_or_a_reason() -> None:
    files = [path for name in ANSWERING for path in (ROOT / "coordinator" / name).rglob("*.py")]
    named = {each for path in files for each in re.findall(r"\bErrorCode\.([A-Z_\d]+)\b", path.read_text("utf-8"))}
    rows = [name for section in errors_doc.ROWS.values() for name in section]
    assert len(rows) == len(set(rows))
    assert set(rows).isdisjoint(errors_doc.INTERNAL)
    assert {*rows, *errors_doc.INTERNAL} == named


@pytest.mark.integration
def test_the_metrics_of_a_daemon_are_those_of_the_page(tmp_path: Path) -> None:
    """Run two workers, because one of the metrics is the supervisor's."""
    port = _free_port()
    arguments = ("--workers", "2", "--http", f"127.0.0.1:{port}", "--worker-ports", f"{_free_port()},{_free_port()}")
    url = f"http://127.0.0.1:{port}/metrics"
    with Daemon(tmp_path, arguments=arguments), urllib.request.urlopen(url, timeout=10) as answer:
        body = answer.read().decode()
    shown = {}
    for family in text_string_to_metric_families(body):
        labels = {label for sample in family.samples for label in sample.labels} - {"le", "node"}
        name = f"{family.name}_total" if family.type == "counter" else family.name
        shown[name] = (family.type, labels, family.documentation)
    written = {
        name: (metric.kind, {*metric.labels} - {"node"}, metric.help)
        for title, source in SOURCES
        if title != "coordinator observe"
        for name, metric in metrics_of(source).items()
    }
    assert {name: written.get(name) for name in shown} == shown
    by_group = {name for name in written.keys() - shown.keys() if name.startswith(BY_GROUP)}
    with_lease = {name for name in written if WITH_LEASE.fullmatch(name)}
    assert written.keys() - by_group - with_lease - WITH_FIRST_VALUE == shown.keys()
