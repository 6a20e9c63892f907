"""Check of a cluster's promises: reads the diaries of all clients, asks the cluster, and prints counts.

`python -m tests.cluster.workload.promises --bootstrap-server HOST:PORT,… --topic T:12 --diaries DIR [--since TIME]`
Run it while the clients work: promises are read first and checked afterwards. Checked, each with its count:

  * a record that was acknowledged stands at its offset with its value, and no offset was promised twice
  * a commit that was acknowledged is not undone: a later owner never begins before it, the offset now is not below it
  * every record that a group committed past was received by one of its members
  * in one generation no partition has two owners; now every group is stable, and each partition has exactly one
  * every client went on by itself: no client ended unasked, and all made progress after `--since`
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.workload.diary import read_diary

ANSWER_S = 30.0
STABLE_S = 60.0  # how long a group may take that a member has just left
Partition = tuple[str, int]


@dataclass(slots=True)
class Member:
    """The diary of one member, in its order."""

    name: str
    group: str
    notes: list[dict[str, Any]]


@dataclass(slots=True)
class Promised:
    """All diaries, read once."""

    records: dict[Partition, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    members: list[Member] = field(default_factory=list)
    last_progress: dict[str, float] = field(default_factory=dict)
    planned_crashes: int = 0
    violations: list[str] = field(default_factory=list)

    @property
    def groups(self) -> list[str]:
        return sorted({member.group for member in self.members})


def read_promises(directory: Path) -> Promised:
    """Everything the clients noted so far."""
    found = Promised()
    for path in sorted(directory.rglob("*.jsonl")):
        notes = list(read_diary(path))
        if path.parent != directory:
            found.members.append(Member(path.stem, path.parent.name, notes))
            found.last_progress[path.stem] = _last(notes, "committed")
        elif path.stem.endswith("-producer"):
            found.last_progress[path.stem] = _last(notes, "acknowledged")
            for note in notes:
                if note["what"] == "acknowledged":
                    _promise_record(found, note)
        else:
            for note in notes:
                found.planned_crashes += note["what"] == "crashed as planned"
                if note["what"] == "died":
                    found.violations.append(f"{note['client']} ended by itself (exit code {note['code']})")
    return found


def _last(notes: list[dict[str, Any]], what: str) -> float:
    return max((note["at"] for note in notes if note["what"] == what), default=0.0)


def _promise_record(found: Promised, note: dict[str, Any]) -> None:
    partition, offset = (note["topic"], note["partition"]), note["offset"]
    before = found.records[partition].setdefault(offset, note["value"])
    if before != note["value"]:
        found.violations.append(f"{partition} offset {offset} was promised to {before} and to {note['value']}")


def commits_of(promised: Promised, group: str) -> Iterator[tuple[float, Member, Partition, int]]:
    """Every acknowledged commit of a group: when, who, where, offset."""
    for member in promised.members:
        if member.group == group:
            for note in member.notes:
                if note["what"] == "committed":
                    for topic, partition, offset in note["offsets"]:
                        yield note["at"], member, (topic, partition), offset


def check_takeovers(promised: Promised, group: str) -> int:
    """A member given a partition begins at the last acknowledged commit or behind it. Returns how many it checked."""
    commits: dict[Partition, list[tuple[int, float, str]]] = defaultdict(list)
    for at, by, partition, offset in commits_of(promised, group):
        commits[partition].append((offset, at, by.name))
    looked_at = 0
    for member in promised.members:
        if member.group != group:
            continue
        assigned_at, awaited = 0.0, set[Partition]()
        for note in member.notes:
            if note["what"] == "assigned":
                assigned_at = note["given_at"]
                awaited = {(topic, partition) for topic, partition in note["partitions"]}
            elif note["what"] == "received":
                for topic, partition, first, _ in note["runs"]:
                    where = (topic, partition)
                    if where not in awaited:
                        continue
                    awaited.discard(where)
                    looked_at += 1
                    earlier = (each for each in commits[where] if each[1] < assigned_at)
                    committed, at, name = max(earlier, default=(0, 0.0, ""))
                    if first < committed:
                        promised.violations.append(
                            f"{group} {where}: {member.name}, assigned at {assigned_at:.3f}, began at {first}, "
                            f"but {committed} had been acknowledged to {name} at {at:.3f}"
                        )
    return looked_at


def check_generations(promised: Promised, group: str) -> int:
    """Check that in one generation a partition has one owner, where the library reports the generation."""
    owners: dict[int, dict[Partition, str]] = defaultdict(dict)
    for member in promised.members:
        if member.group != group:
            continue
        for note in member.notes:
            if note["what"] == "assigned" and note["generation"] >= 0:
                for topic, partition in note["partitions"]:
                    first = owners[note["generation"]].setdefault((topic, partition), note["member"])
                    if first != note["member"]:
                        promised.violations.append(
                            f"{group} generation {note['generation']}: {topic}-{partition} given to {first} and "
                            f"{note['member']}"
                        )
    return len(owners)


def highest_commits(promised: Promised, group: str) -> tuple[int, dict[Partition, int]]:
    """Return the number of acknowledged commits of a group, and the highest offset of each partition."""
    highest: dict[Partition, int] = {}
    count = 0
    for _, _, partition, offset in commits_of(promised, group):
        count += 1
        highest[partition] = max(offset, highest.get(partition, 0))
    return count, highest


def check_commits_now(promised: Promised, group: str, highest: dict[Partition, int], now: dict[Partition, int]) -> None:
    """Check that no committed offset is below the acknowledged one."""
    for partition, offset in highest.items():
        if now.get(partition, -1) < offset:
            promised.violations.append(f"{group} {partition}: {offset} was acknowledged, {now.get(partition)} is there")


def check_received(promised: Promised, group: str, now: dict[Partition, int]) -> int:
    """Every acknowledged record that lies below the committed offset was received by a member of the group."""
    received: dict[Partition, set[int]] = defaultdict(set)
    for member in promised.members:
        if member.group == group:
            for note in member.notes:
                if note["what"] == "received":
                    for topic, partition, first, last in note["runs"]:
                        received[topic, partition].update(range(first, last + 1))
    count = 0
    for partition, records in promised.records.items():
        due = {offset for offset in records if offset < now.get(partition, 0)}
        count += len(due)
        if missed := due - received[partition]:
            promised.violations.append(
                f"{group} {partition}: {len(missed)} records were committed past and received by no member, "
                f"the first at {min(missed)}"
            )
    return count


# -- what the cluster says now ---------------------------------------------------------------------------------------


class Cluster:
    """The cluster as librdkafka's admin client sees it."""

    def __init__(self, address: str) -> None:
        from confluent_kafka.admin import AdminClient

        self._address = address
        self._admin = AdminClient({"bootstrap.servers": address, "log_level": 2, "error_cb": lambda error: None})

    def committed(self, group: str) -> dict[Partition, int]:
        from confluent_kafka import ConsumerGroupTopicPartitions

        request = [ConsumerGroupTopicPartitions(group)]
        found = self._admin.list_consumer_group_offsets(request, request_timeout=ANSWER_S)[group].result()
        return {(each.topic, each.partition): each.offset for each in found.topic_partitions if each.offset >= 0}

    def assignments(self, group: str) -> tuple[str, list[set[Partition]]]:
        found = self._admin.describe_consumer_groups([group], request_timeout=ANSWER_S)[group].result()
        owned = [{(each.topic, each.partition) for each in one.assignment.topic_partitions} for one in found.members]
        return found.state.name, owned

    def records(self, topic: str, partitions: int) -> dict[Partition, dict[int, str]]:
        """The whole topic, up to where it ends now."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": self._address,
                "group.id": "promises",
                "enable.auto.commit": False,
                "log_level": 2,
                "error_cb": lambda error: None,
            }
        )
        found: dict[Partition, dict[int, str]] = defaultdict(dict)
        ends = {}
        for number in range(partitions):
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=ANSWER_S)
            if high > low:
                ends[number] = high
        consumer.assign([TopicPartition(topic, number, 0) for number in ends])
        while ends:
            messages = consumer.consume(5000, timeout=ANSWER_S)
            if not messages:
                raise TimeoutError(f"{topic}: no records within {ANSWER_S:g} s, missing are {ends}")
            for message in messages:
                if message.error() is not None:
                    continue
                number, offset = message.partition(), message.offset()
                found[topic, number][offset] = message.value().decode()
                if offset + 1 >= ends.get(number, sys.maxsize):
                    ends.pop(number, None)
        consumer.close()
        return found


def check_records(promised: Promised, there: dict[Partition, dict[int, str]]) -> int:
    """Every acknowledged record is where it was promised to be."""
    count = 0
    for partition, records in promised.records.items():
        for offset, value in records.items():
            count += 1
            found = there.get(partition, {}).get(offset)
            if found != value:
                promised.violations.append(f"{partition} offset {offset}: {value} was acknowledged, {found} is there")
    return count


def check_assignments(promised: Promised, group: str, cluster: Cluster, topic: str, partitions: int) -> None:
    """The group is stable, or becomes so in time, and each partition has exactly one owner."""
    deadline = time.monotonic() + STABLE_S
    while (seen := cluster.assignments(group))[0] != "STABLE" and time.monotonic() < deadline:
        time.sleep(0.2)
    state, owned = seen
    everything = {(topic, number) for number in range(partitions)}
    together = set().union(*owned)
    if state != "STABLE":
        promised.violations.append(f"{group} is {state}, not stable")
    if sum(map(len, owned)) != len(together):
        promised.violations.append(f"{group}: a partition has two owners: {owned}")
    if together != everything:
        promised.violations.append(f"{group}: partitions without owner: {sorted(everything - together)}")


def check(address: str, topic: str, partitions: int, directory: Path, since: float) -> tuple[dict[str, int], list[str]]:
    """All of it. Returns the counts, in the order in which they are told, and what was broken."""
    promised = read_promises(directory)  # first: everything asked below is asked after it was promised
    commits_promised = {group: highest_commits(promised, group) for group in promised.groups}
    cluster = Cluster(address)
    counts = {
        "clients": len(promised.last_progress),
        "planned crashes": promised.planned_crashes,
        "records acknowledged": check_records(promised, cluster.records(topic, partitions)),
        "groups": len(promised.groups),
        "commits acknowledged": sum(count for count, _ in commits_promised.values()),
        "generations": 0,
        "takeovers": 0,
        "records received below the commits": 0,
    }
    commits = {group: cluster.committed(group) for group in promised.groups}
    promised.members = read_promises(directory).members
    for group, now in commits.items():
        check_commits_now(promised, group, commits_promised[group][1], now)
        counts["records received below the commits"] += check_received(promised, group, now)
        counts["takeovers"] += check_takeovers(promised, group)
        counts["generations"] += check_generations(promised, group)
        check_assignments(promised, group, cluster, topic, partitions)
    for client, at in promised.last_progress.items():
        if at < since:
            promised.violations.append(f"{client} made no progress after the last fault")
    return counts, promised.violations


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-server", required=True)
    parser.add_argument("--topic", default="orders:12", help="NAME:PARTITIONS")
    parser.add_argument("--diaries", type=Path, required=True)
    parser.add_argument("--since", type=float, default=0.0, help="wall clock (s) after which all must have gone on")
    arguments = parser.parse_args()
    topic, _, partitions = arguments.topic.partition(":")
    counts, violations = check(arguments.bootstrap_server, topic, int(partitions), arguments.diaries, arguments.since)
    for name, count in counts.items():
        print(f"{name}: {count}")
    for violation in violations[:40]:
        print(f"BROKEN: {violation}")
    print(f"promises broken: {len(violations)}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
