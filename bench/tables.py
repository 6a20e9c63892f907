"""The report of `make bench`: one table for each load, memory, the targets, all of it as Markdown.

What the terminal shows is what the page in docs/ gets, between two markers, so that the page cannot drift from a run.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, Final

from bench.report import markdown_table, median_of, spread_of
from bench.targets import CPU, worker_lines

HEADINGS: Final = (
    "server",
    "CPU µs per request",
    "requests/s",
    "per CPU second",
    "p50 / p99 / p99.9 ms",
    "CPU, of ours",
)


def _notes(scenario: dict[str, Any], runs: Sequence[dict[str, Any]]) -> str:
    notes = []
    if any(run["generator_is_the_bottleneck"] for run in runs):
        notes.append("load is the limit")
    if scenario["rate"] and median_of(runs, "requests_per_second") < 0.97 * scenario["rate"]:
        notes.append("does not keep up")
    return f" ({', '.join(notes)})" if notes else ""


def scenario_table(scenario: dict[str, Any], labels: dict[str, str]) -> list[str]:
    """The servers under one load, in the order of the scenario's list."""
    runs_of = scenario["runs"]
    base = median_of(runs_of["ours"], CPU) if runs_of.get("ours") else None
    rows = []
    for key in scenario["peers"]:
        runs = runs_of.get(key)
        if not runs:
            continue
        cost = median_of(runs, CPU)
        times = " / ".join(f"{median_of(runs, name) / 1000:.2f}" for name in ("p50_us", "p99_us", "p999_us"))
        rows.append(
            (
                labels[key] + _notes(scenario, runs),
                f"{cost:.2f} ({spread_of(runs, CPU)})",
                f"{median_of(runs, 'requests_per_second'):,.0f}",
                f"{median_of(runs, 'requests_per_server_cpu_second'):,.0f}",
                times,
                f"{cost / base:.2f}" if base else "-",
            )
        )
    return [f"**{scenario['title']}**", "", *markdown_table(HEADINGS, rows)] if rows else []


def memory_table(results: dict[str, Any]) -> list[str]:
    rows = []
    for facts in results["peers"].values():
        for kind in ("one", "all"):
            held = facts.get(kind, {})
            if "memory" not in held:
                continue
            start, now = held.get("memory_at_start", held["memory"]), held["memory"]
            rows.append(
                (
                    facts["label"] + (", all cores" if kind == "all" else ""),
                    f"{start['pss_bytes'] / 1e6:,.0f}",
                    f"{now['pss_bytes'] / 1e6:,.0f}",
                    f"{now['rss_bytes'] / 1e6:,.0f}",
                    f"{held.get('idle_cpu_share', 0):.1%}",
                )
            )
    headings = ("server", "MB when ready", "MB after the run", "the same as resident set size", "of a core, idle")
    return (
        ["**Memory (proportional set size of the process tree)**", "", *markdown_table(headings, rows)] if rows else []
    )


def target_table(results: dict[str, Any]) -> list[str]:
    rows = [(v["what"], v["build"], v["wanted"], v["got"], v["verdict"]) for v in results["verdicts"]]
    if not rows:
        return []
    return ["**Targets**", "", *markdown_table(("what", "build", "wanted", "got", ""), rows)]


def _about(results: dict[str, Any]) -> list[str]:
    facts, settings = results["machine"], results["settings"]
    lines = [
        f"{facts['cores']} cores ({facts['cpu']}), Linux {facts['kernel']}, Python {facts['python']}, loopback; "
        f"medians of {settings['rounds']} rounds of {settings['seconds']:g} s each, lowest and highest in brackets.",
    ]
    versions = [f"{name} {version}" for name, version in results.get("versions", {}).items()]
    if versions:
        lines[0] += f" Versions: {', '.join(versions)}."
    disk = results["fdatasync_us"]
    if disk:
        ordered = sorted(disk)
        lines.append(
            f"This disk's own fdatasync after an append of 4 kB, in the same minutes: median "
            f"{statistics.median(disk) / 1000:.2f} ms, p99 {ordered[int(len(ordered) * 0.99)] / 1000:.2f} ms."
        )
    lines.append(
        "On one core each server has a pinned core and the load the other; with all cores, server and load share them. "
        f"A JVM was warmed up with {settings['jvm_warmup']:g} s of each kind of request before anything counted."
    )
    runs = [run for s in results["scenarios"] for found in s["runs"].values() for run in found]
    disturbed = sum(bool(run.get("disturbed")) for run in runs)
    if disturbed:
        lines.append(f"{disturbed} of {len(runs)} measurements were taken while others used the machine.")
    for key, why in results["not_run"].items():
        lines.append(f"Not run: {results['peers'][key]['label']}: {why}")
    for peer in results["peers"].values():
        lines += [f"{peer['label']} failed: {each}" for each in peer.get("failures", ())]
    return lines


def page(results: dict[str, Any]) -> list[str]:
    """All of it, as Markdown lines."""
    labels = {key: facts["label"] for key, facts in results["peers"].items()}
    lines: list[str] = []
    for line in _about(results):
        lines += [line, ""]
    for scenario in results["scenarios"]:
        if table := scenario_table(scenario, labels):
            lines += [*table, ""]
    lines += [*memory_table(results), ""]
    if more := worker_lines(results):
        lines += ["**Worker processes**", "", *(f"- {line}" for line in more), ""]
    return lines + target_table(results)
