"""Targets of `make bench` for the request and response part, reached or missed.

Every verdict is computed from the saved results alone, so that it can be made again. Shares and ratios are of medians
over the rounds, taken in the same run on the same cores. "Rate" is requests per second of a pinned core; a share of an
echo is that of requests per CPU second, because there the load may be the limit.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any, Final

from bench.report import median_of

CPU, RATE, PER_CPU_S = "server_cpu_us_per_request", "requests_per_second", "requests_per_server_cpu_second"
P50_ABOVE_DISK_US: Final = 300.0
# Of what: (plain, compiled)
ECHO_SHARE: Final = {"uvloop": (0.70, 0.80), "c-echo": (0.42, 0.48)}
COMMITS: Final = (30_000.0, 65_000.0)
BUILDS: Final = (("ours", "plain"), ("compiled", "compiled"))
# Equal durability: ours is acknowledged after its fdatasync, Kafka's after its own.
DURABLE_RIVAL, LAX_RIVAL, LAX_OURS = "kafka-flush", "kafka", "ours-interval"


class Figures:
    """Medians by scenario and server; None where one of them did not run."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.scenarios = {each["key"]: each for each in results["scenarios"]}
        self.peers = results["peers"]

    def of(self, scenario: str, peer: str, key: str) -> float | None:
        runs = self.scenarios.get(scenario, {}).get("runs", {}).get(peer)
        return median_of(runs, key) if runs else None

    def ratio(self, scenario: str, key: str, above: str, below: str) -> float | None:
        """Return the figure of `above` divided by that of `below`."""
        one, other = self.of(scenario, above, key), self.of(scenario, below, key)
        return one / other if one is not None and other else None

    def pair(self, scenario: str, key: str, above: str, below: str) -> tuple[float | None, float | None, float | None]:
        """The ratio and the two figures."""
        return self.ratio(scenario, key, above, below), self.of(scenario, above, key), self.of(scenario, below, key)

    def title(self, scenario: str) -> str:
        return str(self.scenarios[scenario]["title"])

    def load_share(self, scenario: str, peer: str) -> float:
        """Return the share of a core that the load generator used."""
        runs = self.scenarios[scenario]["runs"][peer]
        return float(statistics.median(run["generator_cpu_seconds"] / run["seconds"] for run in runs))

    def memory(self, peer: str, kind: str) -> float | None:
        found = self.peers.get(peer, {}).get(kind, {}).get("memory")
        return float(found["pss_bytes"]) if found else None


def verdict(what: str, build: str, got: float | None, wanted: float, *, at_most: bool = False, unit: str = "") -> Any:
    """One line of the judgement; None when nothing was measured."""
    if got is None:
        return None
    reached = got <= wanted if at_most else got >= wanted
    digits = 0 if wanted >= 1000 else 2
    got_text, wanted_text = f"{got:,.{digits}f}{unit}", f"{'<=' if at_most else '>='} {wanted:,.{digits}f}{unit}"
    text = "reached"
    if not reached:
        text = f"MISSED by {abs(got - wanted) / wanted:.0%}"
    return {"what": what, "build": build, "got": got_text, "wanted": wanted_text, "reached": reached, "verdict": text}


def _limits(figures: Figures, peer: str, build: str, column: int) -> Iterator[Any]:
    names = {"uvloop": "uvloop echo", "c-echo": "C epoll echo"}
    for echo, wanted in ECHO_SHARE.items():
        share = figures.ratio("heartbeat-p1", PER_CPU_S, peer, echo)
        yield verdict(f"heartbeats, 1,000 connections: share of the {names[echo]}", build, share, wanted[column])
    rate = figures.of("commit-p10", peer, RATE)
    yield verdict("durable commits of 1 partition on one core, ten in flight", build, rate, COMMITS[column], unit="/s")
    p50, disk = figures.of("commit-one", peer, "p50_us"), figures.of("commit-one", peer, "fdatasync_us")
    wanted_ms = ((disk or 0) + P50_ABOVE_DISK_US) / 1000
    got_ms = p50 / 1000 if p50 is not None else None
    yield verdict(
        f"durable commit p50, one connection (fdatasync {(disk or 0) / 1000:.2f} ms + 0.3 ms)",
        build,
        got_ms,
        wanted_ms,
        at_most=True,
        unit=" ms",
    )


def _beside_kafka(figures: Figures, peer: str, build: str) -> Iterator[Any]:
    for scenario, title in (("heartbeat-p1", "1,000 connections"), ("heartbeat-p10", "ten in flight")):
        cost = figures.ratio(scenario, CPU, peer, "kafka")
        yield verdict(f"CPU of a heartbeat, {title}, of Kafka's", build, cost, 0.5, at_most=True)
        rate = figures.ratio(scenario, RATE, peer, "kafka")
        yield verdict(f"heartbeats on one core, {title}, times Kafka's", build, rate, 2.0)
    pairs = [(peer, DURABLE_RIVAL, "both flush before the answer")]
    if peer == "ours":
        pairs.append((LAX_OURS, LAX_RIVAL, "both flush later"))
    for mine, rival, how in pairs:
        for scenario, title in (("commit-p10", "commit"), ("commit10-p10", "commit of 10")):
            cost = figures.ratio(scenario, CPU, mine, rival)
            yield verdict(f"CPU of a {title}, of Kafka's, {how}", build, cost, 0.5, at_most=True)
            rate = figures.ratio(scenario, RATE, mine, rival)
            yield verdict(f"rate of a {title}, times Kafka's, {how}", build, rate, 1.5)
        p99 = figures.ratio("commit-open", "p99_us", mine, rival)
        yield verdict(f"commit p99 at the same rate, of Kafka's, {how}", build, p99, 1.0, at_most=True)
    p99 = figures.ratio("heartbeat-open", "p99_us", peer, "kafka")
    yield verdict("heartbeat p99 at the same rate, of Kafka's", build, p99, 1.0, at_most=True)
    mine_bytes, kafkas = figures.memory(peer, "one"), figures.memory("kafka", "one")
    memory = mine_bytes / kafkas if mine_bytes and kafkas else None
    yield verdict("memory after the run, of Kafka's", build, memory, 0.1, at_most=True)


def _beside_kfake(figures: Figures, peer: str, build: str) -> Iterator[Any]:
    for scenario, title in (("heartbeat-p1", "1,000 connections"), ("heartbeat-p10", "ten in flight")):
        rate = figures.ratio(scenario, RATE, peer, "kfake")
        yield verdict(f"heartbeats on one core, {title}, times kfake's", build, rate, 2.0)
    rate = figures.ratio("commit-p10", RATE, peer, "kfake")
    yield verdict("durable commits on one core, times kfake's in memory", build, rate, 1.0)


def verdicts(results: dict[str, Any]) -> list[dict[str, Any]]:
    """All that could be judged, plain build first."""
    figures = Figures(results)
    found: list[dict[str, Any]] = []
    for column, (peer, build) in enumerate(BUILDS):
        for part in (_limits(figures, peer, build, column), _beside_kafka(figures, peer, build)):
            found += [each for each in part if each]
        found += [each for each in _beside_kfake(figures, peer, build) if each]
    return found


def worker_lines(results: dict[str, Any]) -> list[str]:
    """Return the lines about a second worker: a ratio without a target."""
    figures = Figures(results)
    lines = []
    for key in ("heartbeat-p1", "heartbeat-p10", "commit-p10"):
        cost, many, one = figures.pair(key, CPU, "ours-workers", "ours")
        if cost is not None:
            lines.append(
                f"{figures.title(key)}, all on one core: {many:.2f} CPU µs per request against {one:.2f} of one worker "
                f"({cost:.2f} times)"
            )
    for key in ("heartbeat-p1-all", "heartbeat-p10-all", "commit-p10-all"):
        for more, less in (("ours-workers", "ours"), ("compiled-workers", "compiled")):
            rate, _, _ = figures.pair(key, RATE, more, less)
            cost, many, one = figures.pair(key, CPU, more, less)
            if rate is None or cost is None:
                continue
            lines.append(
                f"{figures.title(key)}: {results['peers'][more]['label']} serve {rate:.2f} times what one serves, at "
                f"{many:.2f} CPU µs per request against {one:.2f} ({cost:.2f} times); the load, on the same cores, "
                f"used {figures.load_share(key, more):.2f} of one, and the busiest worker had "
                f"{figures.of(key, more, 'largest_port_share') or 0:.0%} of the connections"
            )
    return lines
