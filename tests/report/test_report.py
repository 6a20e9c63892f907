"""The report: ten lines, tables, and the page as one HTML file."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from coordinator.report import svg
from coordinator.report.html import page
from coordinator.report.report import LINES, GroupsReport
from coordinator.report.words import cost, number, partition_time
from tests.report.stories import WEEK, Story, past_of
from tests.report.test_rules import deploy_lag, flapping, host, slow_poll, static
from tests.support.machine_tools import require_tool

ODD = "<b>x</b>\"&' {subject}\x1b[2J"


def report_of(*stories: Story) -> GroupsReport:
    return GroupsReport(past_of(stories), WEEK)


def named(story: Story, group: str) -> Story:
    """Return the story with another group id."""
    for number_, event in enumerate(story.events):
        import msgspec

        story.events[number_] = msgspec.structs.replace(event, group=group)
    for row in story.lag:
        row["group"] = group
    story.group = group
    return story


def test_the_most_costly_findings_come_first_in_ten_lines() -> None:
    stories = [named(slow_poll(4 + each), f"g{each:02}") for each in range(14)]
    lines = report_of(*stories).lines()
    assert len(lines) == LINES
    assert re.match(r"2026-\d\d-\d\d to 2026-\d\d-\d\d: 14 groups, \d+ rebalances", lines[0])
    assert [line[:3] for line in lines[1:-1]] == [f"g{each:02}" for each in range(13, 5, -1)]
    assert lines[-1] == "6 more findings below. 0 groups without a finding."


def test_a_healthy_past_says_so() -> None:
    lines = report_of(Story().start("a", "b")).lines()
    assert lines[1:] == ["1 group without a finding."]


def test_a_host_that_troubles_two_groups_is_one_line() -> None:
    lines = report_of(named(host(4), "g"), named(host(3), "h")).lines()
    assert len(lines) == 3
    assert "host 10.0.0.1 expired 8 times" in lines[1]
    assert "With 1 more group: 28 rebalances" in lines[1]


def test_tables_have_findings_flaps_deploys_and_groups() -> None:
    tables = {
        table.title.partition(":")[0]: table.rows for table in report_of(flapping(8), named(static(5), "s")).tables()
    }
    assert list(tables) == ["Findings", "Groups that flap", "Deploys", "Groups, those that lost most first"]
    assert {row["FINDING"] for row in tables["Findings"]} == {"flapping", "static"}
    assert [(row["GROUP"], row["REBALANCES"], row["MEDIAN DAY"]) for row in tables["Groups that flap"]] == [
        ("g", 16, "0")
    ]
    assert [row["MEMBERS"] for row in tables["Deploys"]] == [3] * 5


def test_the_lag_of_a_deploy_is_that_before_and_half_an_hour_after() -> None:
    (table,) = [each for each in report_of(deploy_lag(5_000)).tables() if each.title.startswith("Deploys")]
    assert [table.rows[0][name] for name in ("LAG BEFORE", "LAG AT END", "LAG 30 MIN LATER")] == [100, 100, 5_000]


def test_json_has_the_lines_the_findings_and_their_costs() -> None:
    made = report_of(slow_poll(5)).as_json()
    (finding,) = made["findings"]
    assert (finding["kind"], finding["group"], finding["number"], finding["rebalances"]) == ("slow_poll", "g", 5, 10)
    assert made["rebalances"] == 13 and len(made["lines"]) == 3


def test_the_page_escapes_names_and_loads_nothing() -> None:
    story = Story(ODD).start("a", "<script>", "c")
    for _ in range(5):
        story.wait(hours=4).goes("<script>", "expired").wait(seconds=20).comes("<script>")
    text = page(report_of(story))
    assert "<script" not in text and "<b>" not in text
    assert "&lt;script&gt; (host-&lt;script&gt;)" in text
    assert not re.search(r"(src|href)=|@import|url\(", text)
    assert text.count("<svg") == 2


@pytest.mark.integration
def test_a_browser_shows_the_page(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page(report_of(named(static(5), ODD), named(deploy_lag(9_000), "d"))), encoding="utf-8")
    browser = [require_tool("chromium"), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    shown = subprocess.run([*browser, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("</svg>") == 3
    assert "9 000 records half an hour after" in shown.stdout
    assert "parsererror" not in shown.stdout


def test_costs_are_words() -> None:
    assert cost(1, 0) == "1 rebalance"
    assert cost(41, 18_600_000) == "41 rebalances and 310 partition-minutes without an owner"
    assert cost(2, 30_000, 1) == "2 rebalances, 30 partition-seconds without an owner and up to 1 record read twice"
    assert [partition_time(ms) for ms in (4_200, 90_000, 3.6e8)] == [
        "4.2 partition-seconds",
        "1.5 partition-minutes",
        "100 partition-hours",
    ]
    assert [number(each) for each in (0, 2.5, 12.4, 1_234_567)] == ["0", "2.5", "12", "1 234 567"]


def test_a_loss_of_less_than_a_minute_has_a_scale() -> None:
    drawn = svg.stacked(["11-29"], {"scaling": [0.005]}, "minutes")
    assert ">0.005 minutes<" in drawn and ">0 minutes<" not in drawn
    assert ">1 234 minutes<" in svg.stacked(["11-29"], {"scaling": [1234.0]}, "minutes")
