"""The rules and the dashboard in docs/ops, in a real Prometheus that scrapes a real daemon."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from coordinator.metrics.group_figures import label_of
from protocol.error_codes import ErrorCode
from tests.docs.blocks import ROOT
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.group_member import GroupMember, alone_in_group
from tests.support.prometheus import Prometheus, free_port, promtool
from tests.support.simple_group import commit
from tests.support.topics_wire import batch, produce_request, produced
from tests.support.wire import Wire, call

pytestmark = pytest.mark.integration

RULES: Final = ROOT / "docs" / "ops" / "rules.yml"
DASHBOARD: Final = ROOT / "docs" / "ops" / "grafana-dashboard.json"
GROUP: Final = "it's $(stuck)"
OTHER_GROUPS: Final = ('a"b\\c\nd', "\x00\x1b[31m", "größe 💥\u2028\x85\r", "{le=1} 5 # EOF", "x" * 30_000)
# Metrics that this daemon has no series of, each with the reason.
ON_DEMAND: Final = {
    "coordinator_parked_heartbeats_released_total": "appears with the first heartbeat that was parked and released",
    "coordinator_worker_restarts_total": "is the supervisor's, where there are several workers",
}
_METRIC: Final = re.compile(r"(?<![\w:])(?:kafka|coordinator|process)_[a-z0-9_]+|\b[a-z]+:[a-z0-9_]+:[a-z0-9_]+")


async def _rebalance_without_end(port: int) -> None:
    """Leave a group in a rebalance: its first member does not join again."""
    async with await Wire.connect(port) as wire, await Wire.connect(port) as other:
        first = await alone_in_group(wire, GROUP, "orders")
        assert await first.commit({("orders", 0): 1}) is ErrorCode.NONE
        second = GroupMember(other, GROUP, ["orders"])
        second.member_id = (await other.request(second.join_request(), 7)).member_id
        other.send_unanswered(second.join_request(), 7)
        await other.drain()
        await first.notices_a_rebalance()


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Start a daemon with a stuck group, and Prometheus with the rules, of which none waits for more than a second."""
    directory: Path = tmp_path_factory.mktemp("ops")
    rules = directory / "rules.yml"
    rules.write_text(re.sub(r"for: \w+", "for: 1s", RULES.read_text(encoding="utf-8")), encoding="utf-8")
    target = f"127.0.0.1:{free_port()}"
    daemon = Daemon(directory, topics=("orders:1",), overrides=("group.initial.rebalance.delay.ms=0",), http=target)
    with daemon, Prometheus(directory / "prometheus", target, rules) as prometheus:
        for _ in range(3):
            assert produced(call(daemon.port, produce_request(batch()), 9)).error_code == ErrorCode.NONE
        asyncio.run(_rebalance_without_end(daemon.port))
        for name in OTHER_GROUPS:
            commit(daemon.port, name, 2)
        eventually(
            lambda: prometheus.query(f'coordinator_group_lag_offsets{{group="{GROUP}"}}'), "the group is scraped"
        )
        yield prometheus


@pytest.fixture(scope="module")
def expressions(prometheus: Prometheus) -> list[str]:
    """Return every expression of the dashboard, with its variables replaced, and of the rules."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    found = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    found = [re.sub(r"\$(instance|group)\b", ".*", each).replace("$__rate_interval", "1m") for each in found]
    assert len(found) > 25
    return found + [rule["query"] for rule in rules_of(prometheus)]


def rules_of(prometheus: Prometheus) -> list[dict[str, Any]]:
    return [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]


def test_promtool_accepts_the_rules() -> None:
    promtool("check", "rules", str(RULES))


def test_an_alert_fires_while_a_group_is_in_quarantine(tmp_path: Path) -> None:
    """Prometheus' own test of rules: one group from the second minute to the fourth."""
    labels = {"instance": "node:9093", "job": "coordinator"}
    series = 'kafka_coordinator_group_num_quarantined_groups{instance="node:9093", job="coordinator"}'
    firing = {"exp_labels": {**labels, "severity": "critical"}}
    texts = {
        "summary": "1 groups of node:9093 are not served, because records of them are damaged.",
        "description": "coordinator groups list shows them as Quarantined; see docs/quarantine.md for the ways out.",
    }
    expected = {"1m": [], "2m": [{**firing, "exp_annotations": texts}], "5m": []}
    alerts = [
        {"eval_time": at, "alertname": "GroupsQuarantined", "exp_alerts": alerts} for at, alerts in expected.items()
    ]
    case = {"interval": "1m", "input_series": [{"series": series, "values": "0 0 1 1 1 0"}], "alert_rule_test": alerts}
    (tmp_path / "rules_test.yml").write_text(json.dumps({"rule_files": [str(RULES)], "tests": [case]}))
    promtool("test", "rules", str(tmp_path / "rules_test.yml"))


def test_the_page_has_every_alert() -> None:
    alerts = re.findall(r"alert: (\w+)", RULES.read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8").partition("## Dashboard and alerts")[2]
    assert [alert for alert in alerts if not re.search(rf"\b{alert}\b", page)] == []


def test_the_daemon_is_scraped(prometheus: Prometheus) -> None:
    assert [each["value"][1] for each in prometheus.query('up{job="coordinator"}')] == ["1"]
    assert [each["value"][1] for each in prometheus.query("coordinator_ready")] == ["1"]


def test_every_expression_is_valid_and_every_metric_in_it_exists(
    prometheus: Prometheus, expressions: list[str]
) -> None:
    for expression in expressions:
        prometheus.query(expression)
    named = {name for expression in expressions for name in _METRIC.findall(expression)}
    assert "group:coordinator_group_is_rebalancing:max" in named

    def missing() -> set[str]:
        return named - set(prometheus.get("label/__name__/values")) - ON_DEMAND.keys()

    eventually(lambda: not missing(), "all metrics are scraped")
    assert ON_DEMAND.keys() <= named


def test_prometheus_takes_the_label_of_any_group(prometheus: Prometheus) -> None:
    expected = {label_of(name) for name in (GROUP, *OTHER_GROUPS)}
    eventually(lambda: set(prometheus.get("label/group/values")) == expected, "all groups are scraped")


def test_every_rule_is_evaluated_and_every_alert_says_what_to_do(prometheus: Prometheus) -> None:
    def all_are_evaluated() -> bool:
        return {rule["health"] for rule in rules_of(prometheus)} == {"ok"}

    eventually(all_are_evaluated, "all rules are evaluated")
    for rule in rules_of(prometheus):
        if rule["type"] == "alerting":
            assert rule["annotations"].keys() == {"summary", "description"}, rule["name"]
            assert rule["labels"]["severity"] in {"warning", "critical"}


def test_a_stuck_group_fires_an_alert_whose_command_names_it(prometheus: Prometheus) -> None:
    def firing() -> dict[str, Any] | None:
        alerts = prometheus.get("alerts")["alerts"]
        return next(
            (a for a in alerts if a["state"] == "firing" and a["labels"]["alertname"] == "GroupRebalancing"), None
        )

    alert = eventually(firing, "the alert fires")
    assert alert["labels"]["group"] == GROUP
    assert shlex.split(alert["annotations"]["description"]) == ["coordinator", "groups", "explain", GROUP]
    assert GROUP in alert["annotations"]["summary"]
