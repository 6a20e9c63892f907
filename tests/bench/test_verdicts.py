"""Verdicts of `make bench` on its figures, and how they are written into a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.pages import put
from bench.scenarios import ECHOES, SCENARIOS, peers
from bench.targets import verdict, verdicts, worker_lines


def results(**runs: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Results with these runs: scenario -> server -> figures of each round."""
    listed = [{"key": key.replace("_", "-"), "title": key, "runs": found} for key, found in runs.items()]
    labels = {key: {"label": peer.label} for key, peer in peers(None).items()}
    return {"scenarios": listed, "peers": labels, "not_run": {}, "fdatasync_us": []}


def found_of(figures: dict[str, Any], words: str) -> dict[str, Any]:
    (found,) = (each for each in verdicts(figures) if words in each["what"])
    return dict(found)


def test_a_share_of_an_echo_is_that_of_the_medians_over_the_rounds() -> None:
    ours = [{"requests_per_server_cpu_second": rate} for rate in (60.0, 75.0, 10.0)]
    echo = [{"requests_per_server_cpu_second": rate} for rate in (100.0, 80.0, 300.0)]
    figures = results(heartbeat_p1={"ours": ours, "uvloop": echo})
    for run in ours + echo:
        run |= {"server_cpu_us_per_request": 1.0, "requests_per_second": 1.0}
    found = found_of(figures, "share of the uvloop echo")
    assert (found["got"], found["reached"], found["verdict"]) == ("0.60", False, "MISSED by 14%")


def test_what_has_to_be_small_is_missed_when_it_is_large() -> None:
    assert verdict("cost", "plain", 0.75, 0.5, at_most=True)["verdict"] == "MISSED by 50%"
    assert verdict("cost", "plain", 0.5, 0.5, at_most=True)["reached"]
    assert verdict("rate", "plain", 29_999, 30_000)["verdict"] == "MISSED by 0%"


def test_a_server_that_did_not_run_gives_no_verdict() -> None:
    run = {"requests_per_second": 5.0, "server_cpu_us_per_request": 1.0, "requests_per_server_cpu_second": 1.0}
    found = verdicts(results(heartbeat_p1={"ours": [run]}, commit_p10={"ours": [run]}))
    assert [each["what"] for each in found] == ["durable commits of 1 partition on one core, ten in flight"]


def test_a_commit_of_one_connection_is_held_against_the_disk_of_the_same_minutes() -> None:
    run = {"p50_us": 900.0, "fdatasync_us": 700.0}
    found = found_of(results(commit_one={"ours": [run]}), "durable commit p50")
    assert (found["wanted"], found["got"], found["reached"]) == ("<= 1.00 ms", "0.90 ms", True)


def test_workers_are_told_as_a_ratio_to_one() -> None:
    one = {
        "requests_per_second": 100.0,
        "server_cpu_us_per_request": 10.0,
        "generator_cpu_seconds": 1.0,
        "seconds": 2.0,
    }
    one["largest_port_share"] = 0.55
    two = one | {"requests_per_second": 180.0, "server_cpu_us_per_request": 10.5}
    (line,) = worker_lines(results(commit_p10_all={"ours": [one], "ours-workers": [two]}))
    assert "serve 1.80 times" in line and "(1.05 times)" in line and "used 0.50 of one" in line


def test_a_page_with_markers_keeps_everything_around_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    begin, end = "<!-- make bench-growth: begin -->", "<!-- make bench-growth: end -->"
    others = "<!-- make bench: begin -->\nothers\n<!-- make bench: end -->\n"
    page.write_text(f"# Before\n\n{others}\n{begin}\nold\n{end}\n\nAfter\n")
    put(page, "bench-growth", ["new"], [tmp_path / "plots" / "a-plot.svg"])
    new = f"{begin}\n\nnew\n\n![a plot](plots/a-plot.svg)\n\n{end}"
    assert page.read_text() == f"# Before\n\n{others}\n{new}\n\nAfter\n"
    put(page, "bench-growth", ["newer"])
    assert "newer" in page.read_text() and "a plot" not in page.read_text() and others in page.read_text()


def test_every_load_names_servers_that_exist_and_echoes_get_only_heartbeats() -> None:
    known = peers(None)
    for scenario in SCENARIOS:
        assert set(scenario.peers) <= set(known)
        assert scenario.mode == "heartbeat" or not set(ECHOES) & set(scenario.peers)
