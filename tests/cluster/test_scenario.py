"""Three nodes as processes on loopback, clients of three libraries at work on all of them, and everything that can go
wrong with a node: the scenario of `make cluster-test` without a container engine.

Producers and members of four groups work all the time and one member of each library kills itself now and then. Nodes
are killed, rolled, frozen for longer than the session timeouts, and one is down while topics are made. After each fault
every client must make progress again by itself; at the end their diaries are held against what the cluster says. What
was counted is printed (`pytest -s`, or the section "Captured stdout").
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.members import LIBRARIES
from tests.cluster.workload import promises
from tests.support.admin import create_topic, delete_topic
from tests.support.daemon import REPOSITORY
from tests.support.eventually import eventually
from tests.support.nodes import Nodes

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

TOPIC, PARTITIONS = "orders", 12
CRASH_EVERY_S = 12.0
AWAY_S = 8.0  # longer than the members' session timeout of 6 s
PROGRESS_S = 120.0  # on a busy machine
OVERRIDES = ("group.initial.rebalance.delay.ms=500", "offsets.topic.segment.bytes=65536")


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    with Nodes(tmp_path / "nodes", overrides=OVERRIDES, topics=(f"{TOPIC}:{PARTITIONS}",)) as running:
        running.know(TOPIC, PARTITIONS)
        yield running


@contextlib.contextmanager
def clients_at_work(nodes: Nodes, diaries: Path) -> Iterator[None]:
    """A runner for each library: a producer, two members of a group of its own, one of the group of all."""
    runners = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.cluster.workload.runner", "--library", library),
                *("--bootstrap-server", nodes.bootstrap, "--topic", f"{TOPIC}:{PARTITIONS}"),
                *("--diaries", str(diaries), "--crash-every-s", str(CRASH_EVERY_S)),
            ],
            cwd=REPOSITORY,
            stderr=subprocess.DEVNULL,
        )
        for library in sorted(LIBRARIES)
    ]
    try:
        yield
    finally:
        for runner in runners:
            runner.terminate()
        for runner in runners:
            runner.wait(timeout=60)


def all_go_on(diaries: Path, since: float) -> None:
    """Every client has done something that succeeded after `since`."""

    def waiting() -> list[str]:
        last = promises.read_promises(diaries).last_progress
        if len(last) < 4 * len(LIBRARIES):
            return [f"only {len(last)} clients have begun"]
        return sorted(client for client, at in last.items() if at < since)

    last_seen: list[str] = []

    def nobody_waits() -> bool:
        last_seen[:] = waiting()
        return not last_seen

    with contextlib.suppress(AssertionError):
        eventually(nobody_waits, "every client makes progress", within_s=PROGRESS_S)
    assert not last_seen, f"no progress within {PROGRESS_S:g} s: {last_seen}"


def killed(nodes: Nodes) -> None:
    """Each node once, the controller among them."""
    for number in nodes:
        nodes[number].kill()
        time.sleep(1)
        nodes[number].start()


def rolled(nodes: Nodes) -> None:
    for number in nodes:
        nodes[number].stop()
        nodes[number].start()


def frozen(nodes: Nodes) -> None:
    for number in (1, 2):
        nodes.freeze(number)
        time.sleep(AWAY_S)
        nodes.unfreeze(number)


def down_while_topics_change(nodes: Nodes) -> None:
    nodes[3].kill()
    create_topic(nodes[1].port, "kept", 6)
    create_topic(nodes[1].port, "dropped", 6)
    delete_topic(nodes[1].port, "dropped")
    nodes[3].start()
    assert (nodes.partitions(3, "kept"), nodes.partitions(3, "dropped")) == (6, None)


def two_at_once(nodes: Nodes) -> None:
    for number in (1, 3):
        nodes[number].kill()
    for number in (3, 1):
        nodes[number].start()


FAULTS: dict[str, Callable[[Nodes], None]] = {
    "each node is killed and started again": killed,
    "all nodes are rolled, one after another": rolled,
    f"two nodes are frozen, each for {AWAY_S:g} s": frozen,
    "a node is down while topics are made and deleted": down_while_topics_change,
    "two nodes are killed at once": two_at_once,
}


def test_nothing_acknowledged_is_lost_and_every_client_goes_on_whatever_happens_to_the_nodes(
    nodes: Nodes, tmp_path: Path
) -> None:
    diaries = tmp_path / "diaries"
    with clients_at_work(nodes, diaries):
        all_go_on(diaries, time.time())
        for name, fault in FAULTS.items():
            began = time.monotonic()
            fault(nodes)
            mended = time.time()
            lasted = time.monotonic() - began
            all_go_on(diaries, mended)
            print(f"{name}: {lasted:.1f} s; every client went on {time.time() - mended:.1f} s after it was mended")
        counts, violations = promises.check(nodes.bootstrap, TOPIC, PARTITIONS, diaries, mended)
    for what, count in {"faults": len(FAULTS), **counts, "promises broken": len(violations)}.items():
        print(f"{what}: {count}")
    assert violations == []
    assert counts["records acknowledged"] > 100 and counts["takeovers"] > 10, "nothing was shown"
