"""`make bench-more` keeps working: small runs without other servers, where only right answers count, not speed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.findings import Verdict
from bench.purgatory import HIGH, LOW, TIMEOUT_MS, Heap, Ours, check, drive_virtually
from tests.support.daemon import REPOSITORY
from tests.support.machine_tools import require_tool
from tests.support.postgres import programs


def run_bench(name: str, directory: Path, *options: str) -> Any:
    """The figures that a benchmark wrote."""
    found, page = directory / f"{name}.json", directory / f"{name}.md"
    command = [sys.executable, str(REPOSITORY / "bench" / f"{name}.py"), "--quick", "--json", str(found)]
    command += ["--markdown", str(page), "--work-dir", str(directory), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert page.read_text().startswith("### ")
    raw = json.loads(found.read_text())
    assert raw["not_run"] == []
    return raw


@pytest.mark.integration
def test_a_rolling_restart_is_one_storm_for_each_member_that_comes_back(tmp_path: Path) -> None:
    require_tool("cc", "gcc")
    raw = run_bench("storms", tmp_path, "--no-peers", "--only", "rolling", "--runs", "1")
    (run,) = raw["rolling restart, 10 of 100 members"]["runs"]["ours"]
    assert len(run["counted"]) == 10
    for storm in run["counted"]:
        assert storm["syncs"] >= 100  # all of them got something to do anew
        assert 0 < storm["last_join_to_last_sync_ms"] <= storm["first_join_to_last_sync_ms"]


@pytest.mark.integration
def test_a_benchmark_tells_what_members_cost_that_are_merely_there(tmp_path: Path) -> None:
    raw = run_bench("idle", tmp_path, "--no-peers")
    assert raw["ours"]["members"] == 10_000
    assert 0 < raw["ours"]["mb_per_100k"] < 1000


@pytest.mark.integration
def test_single_events_are_measured_in_a_process_that_has_all_a_daemon_has() -> None:
    command = [sys.executable, "-m", "bench.loop_events", "--scale", "0.01", "--json"]
    scenarios = ["metrics_scrape", "rebalance_of_5000_members"]
    done = subprocess.run([*command, *scenarios], cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["scenario"] for row in rows] == scenarios
    assert all(row["longest_ms"] > 0 for row in rows)


@pytest.mark.integration
def test_two_members_of_a_real_client_tell_when_they_had_their_partitions(tmp_path: Path) -> None:
    small = ("--repetitions", "1", "--seconds", "2", "--longest-pause", "2", "--parts", "reassignment,delays")
    raw = run_bench("rebalance_speed", tmp_path, "--clients", "librdkafka", "--servers", "off", *small)
    found = raw["samples_ms"]["ours, off"]["librdkafka"]
    for what in ("join", "leave"):
        (ms,) = found[what]
        assert 0 < ms < 30_000
    assert len(found["record"]) == 20
    assert found["commit"] and all(ms > 0 for ms in found["commit"])
    assert (found["errors"], found["assignments beyond the first"]) == ([0], [0])


@pytest.mark.integration
def test_heartbeats_of_a_consumer_group_are_measured(tmp_path: Path) -> None:
    raw = run_bench("consumer_heartbeats", tmp_path, "--without-kafka", "--compiled-python", "")
    ((us,),) = raw["us"].values()
    assert us > 0


@pytest.mark.integration
def test_transactions_of_a_real_client_are_measured(tmp_path: Path) -> None:
    raw = run_bench("transactions", tmp_path, "--without-kafka", "--compiled-python", "")
    assert len(raw["measurements"]) == 3 * 2 * 3  # servers, numbers of producers, shapes
    for each in raw["measurements"]:
        ((cpu_us,), (per_second,)) = each["cpu_us"], each["per_second"]
        assert cpu_us > 0 and per_second > 0
        assert 0 < each["commit_p50_ms"][0] <= each["whole_p50_ms"][0]


@pytest.mark.integration
def test_a_shared_store_is_measured_beside_files(tmp_path: Path) -> None:
    require_tool("cc", "gcc")
    programs()
    raw = run_bench("shared_store", tmp_path, "--stores", "files,postgres", "--rounds", "1")
    for load in ("one", "many"):
        for store in ("files", "postgres"):
            (run,) = raw["runs"][load][store]
            assert run["requests_per_second"] > 0 and run["errors"] == 0


@pytest.mark.integration
def test_a_fail_over_is_measured_step_by_step(tmp_path: Path) -> None:
    programs()
    raw = run_bench("fail_over", tmp_path, "--tails", "5000", "--faults", "kill")
    ((killed,),) = (row["found"] for row in raw["seconds"])
    assert 0 < killed["noticed"] < killed["served"]["0"]
    assert 0 < killed["taken"] < killed["served"]["0"]


@pytest.mark.integration
def test_members_stay_in_a_rolling_restart(tmp_path: Path) -> None:
    programs()
    raw = run_bench("rolling_restart", tmp_path)
    assert [row[0] for row in raw["restarts"]] == ["1", "2", "3"]
    assert raw["changed groups"] == []


@pytest.mark.parametrize("workload", [LOW, HIGH], ids=lambda each: each.name)
def test_designs_of_the_purgatory_benchmark_time_out_the_same_requests(workload: Any) -> None:
    events, requests = workload.events(5000, 1.0)
    shares = []
    for design in (Ours(), Heap()):
        drive_virtually(design, events)
        shares.append(check(type(design).__name__, design, requests))
    assert shares[0] == shares[1]
    arrived = {number: at_ms for at_ms, is_satisfied, number in events if not is_satisfied}
    in_time = {
        number for at_ms, is_satisfied, number in events if is_satisfied and at_ms < arrived[number] + TIMEOUT_MS
    }
    assert shares[0] == pytest.approx(1 - len(in_time) / requests, abs=0.01)


def test_a_verdict_says_whether_and_by_how_much_a_target_was_missed() -> None:
    assert Verdict("start", 150, "ms", 120).sentence() == "start: at most 150 ms: reached, 120"
    assert Verdict("start", 150, "ms", 300).sentence() == "start: at most 150 ms: MISSED, 300 (2.00 of the target)"
    assert Verdict("replay", 170, "k/s", 160, "at least").is_reached is False
    assert "NOT MEASURED (no Java)" in Verdict("start", 150, "ms", None, reason="no Java").sentence()
