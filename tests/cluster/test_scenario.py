"""Three nodes as processes on loopback, clients of three libraries at work on all of them, and everything that can go
wrong with a node: the scenario of `make cluster-test` without a container engine.

Producers and members of four groups work all the time and one member of each library kills itself now and then. Nodes
are killed, rolled, frozen for longer than the session timeouts, and one is down while topics are made. After each fault
every client must make progress again by itself; at the end their diaries are held against what the cluster says. What
was counted is printed (`pytest -s`, or the section "Captured stdout").
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.workload import promises
from tests.cluster.workload.processes import all_go_on, clients_at_work
from tests.support.admin import create_topic, delete_topic
from tests.support.nodes import Nodes
from tests.support.offsets_on_disk import committed_on_disk

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

TOPIC, PARTITIONS = "orders", 12
AWAY_S = 8.0  # longer than the members' session timeout of 6 s
OVERRIDES = ("group.initial.rebalance.delay.ms=500", "offsets.topic.segment.bytes=65536")


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    with Nodes(tmp_path / "nodes", overrides=OVERRIDES, topics=(f"{TOPIC}:{PARTITIONS}",)) as running:
        running.know(TOPIC, PARTITIONS)
        yield running


@dataclass
class Scene:
    """The nodes that a fault acts on, and the observations made on the way."""

    nodes: Nodes
    diaries: Path
    commits_found_on_dead_disks: int = 0

    def kill(self, number: int) -> None:
        """SIGKILL; then its files must hold every commit that a client had noted as acknowledged before."""
        promised = promises.read_promises(self.diaries)
        highest = {group: promises.highest_commits(promised, group)[1] for group in promised.groups}
        owners = {group: self.nodes.coordinator_of(group) for group in highest}
        self.nodes[number].kill()
        on_disk = committed_on_disk(self.nodes[number].data_dir)
        for group, commits in highest.items():
            for partition, offset in commits.items() if owners[group] == number else ():
                found = on_disk.get(group, {}).get(partition, -1)
                assert found >= offset, f"{group} {partition}: {offset} was acknowledged, {found} is on the disk"
                self.commits_found_on_dead_disks += 1


def killed(scene: Scene) -> None:
    """Each node once, the controller among them."""
    for number in scene.nodes:
        scene.kill(number)
        time.sleep(1)
        scene.nodes[number].start()


def rolled(scene: Scene) -> None:
    for number in scene.nodes:
        scene.nodes[number].stop()
        scene.nodes[number].start()


def frozen(scene: Scene) -> None:
    nodes = scene.nodes
    for number in (1, 2):
        nodes.freeze(number)
        time.sleep(AWAY_S)
        nodes.unfreeze(number)


def down_while_topics_change(scene: Scene) -> None:
    nodes = scene.nodes
    scene.kill(3)
    create_topic(nodes[1].port, "kept", 6)
    create_topic(nodes[1].port, "dropped", 6)
    delete_topic(nodes[1].port, "dropped")
    nodes[3].start()
    assert (nodes.partitions(3, "kept"), nodes.partitions(3, "dropped")) == (6, None)


def two_at_once(scene: Scene) -> None:
    for number in (1, 3):
        scene.kill(number)
    for number in (3, 1):
        scene.nodes[number].start()


FAULTS: dict[str, Callable[[Scene], None]] = {
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
    scene = Scene(nodes, diaries)
    with clients_at_work(nodes.bootstrap, TOPIC, PARTITIONS, diaries):
        all_go_on(diaries, time.time())
        for name, fault in FAULTS.items():
            began = time.monotonic()
            fault(scene)
            mended = time.time()
            lasted = time.monotonic() - began
            all_go_on(diaries, mended)
            print(f"{name}: {lasted:.1f} s; every client went on {time.time() - mended:.1f} s after it was mended")
        counts, violations = promises.check(nodes.bootstrap, TOPIC, PARTITIONS, diaries, mended)
    counts = {"faults": len(FAULTS), "commits found on dead disks": scene.commits_found_on_dead_disks, **counts}
    for what, count in {**counts, "promises broken": len(violations)}.items():
        print(f"{what}: {count}")
    assert violations == []
    assert scene.commits_found_on_dead_disks >= PARTITIONS, "no member had committed when nodes were killed"
    assert counts["records acknowledged"] > 100 and counts["takeovers"] > 10, "nothing was shown"
