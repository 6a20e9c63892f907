"""`make conformance-transactions SEED=… STEPS=…`: generated transactions against a real Kafka and against us.

Scripts of 30 steps are played to both, each with names of its own: producers of three transactional ids, also zombies
and strangers, in the ways of clients before and since KIP-890; offsets of groups with and without members; readers of
both isolation levels; the requests of an administrator. Every answer is compared. The exit code is 1 if one differs.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.conformance import transactions
from tests.conformance.kafka import KafkaMissingError, release
from tests.conformance.lockstep import overrides
from tests.conformance.record_transactions import kafka_of
from tests.conformance.servers import await_producer_ids
from tests.conformance.transaction_cases import Kind
from tests.conformance.transaction_play import Play, Producer
from tests.support.daemon import Daemon

STEPS_OF_A_SCRIPT: Final = 30
NAMES: Final = ("tx", "ty", "tz")
PARTITIONS: Final = ("t-0", "t-1", "u-0")
ODD_PARTITIONS: Final = ("t-9", "nope-0", "__consumer_offsets-0", "__transaction_state-0")
GROUPS: Final = ("g", "h")
INIT_VERSIONS: Final = (0, 1, 2, 3, 4, 5)
GIVEN_SINCE: Final = 3  # InitProducerId with the producer id and epoch of the client
RAISES_EPOCH: Final = 5  # EndTxn
CONCURRENT: Final = 51


class Client:
    """A producer as its process knows it."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self.sequences: dict[str, int] = {}  # the next one, by partition
        self.opened: set[str] = set()  # partitions to which this transaction has written

    def renewed(self, producer: Producer) -> None:
        """Go on as another producer, or with another epoch."""
        if (producer.id, producer.epoch) != (self.producer.id, self.producer.epoch):
            self.sequences.clear()
        self.producer = producer
        self.opened.clear()


class Script:
    """One generated script, which goes on by what a server has answered."""

    def __init__(self, play: Play, seed: str) -> None:
        self.play = play
        self.chance = random.Random(seed)
        self.clients: dict[str, Client] = {}
        self.zombies: list[Producer] = []
        self.members: dict[str, tuple[str, int]] = {}

    def run(self) -> None:
        self.play.topic("t", 2)
        self.play.topic("u", 1)
        actions: list[tuple[int, Callable[[], None]]] = [
            (3, self.init),
            (6, self.add),
            (3, self.add_offsets),
            (8, self.produce),
            (5, self.commit_in),
            (7, self.end),
            (2, self.commit),
            (4, self.read_offsets),
            (5, self.read),
            (3, self.describe),
            (1, self.join),
            (1, self.delete),
        ]
        weights, acts = zip(*actions, strict=True)
        while not self.clients:
            self.init()
        while len(self.play.steps) < STEPS_OF_A_SCRIPT:
            self.chance.choices(acts, weights)[0]()
        self.produce_as_a_zombie()

    # -- choices -------------------------------------------------------------------------------------------------

    def client(self) -> Client:
        """Return a client that has a producer id, most often that of the first name."""
        return self.clients[self.chance.choice(sorted(self.clients))]

    def identity(self, client: Client) -> Producer:
        """Return the producer of a client; sometimes a zombie, a stranger, or one with another name or epoch."""
        producer, roll = client.producer, self.chance.random()
        if roll < 0.85:
            return producer
        others = [producer.at(producer.epoch + 1), producer.stranger(), producer.called("unknown"), *self.zombies]
        if producer.epoch:
            others.append(producer.at(producer.epoch - 1))
        return self.chance.choice(others)

    def partitions(self) -> list[str]:
        found = self.chance.sample(PARTITIONS, self.chance.choice((1, 1, 2, 3)))
        if self.chance.random() < 0.08:
            found.append(self.chance.choice(ODD_PARTITIONS))
        return found

    # -- producers -----------------------------------------------------------------------------------------------

    def init(self) -> None:
        name = self.chance.choices(NAMES, (5, 2, 1))[0]
        client, version = self.clients.get(name), self.chance.choice(INIT_VERSIONS)
        given = None
        if client is not None and version >= GIVEN_SINCE and self.chance.random() < 0.5:
            given = self.identity(client)
        timeout_ms = self.chance.choices((60_000, 0, 10**6), (20, 1, 1))[0]
        producer = self.play.init(name, timeout_ms=timeout_ms, given=given, version=version)
        if self.play.steps[-1]["answer"]["error_code"] == CONCURRENT:
            self.play.settle(name)
            producer = self.play.init(name, given=given, version=version)
        if producer.id < 0:
            return
        if client is None:
            self.clients[name] = Client(producer)
        else:
            self.zombies = [*self.zombies[-3:], client.producer]
            client.renewed(producer)

    def add(self) -> None:
        self.play.add(self.identity(self.client()), *self.partitions(), version=self.chance.choice((0, 1, 2, 3)))

    def add_offsets(self) -> None:
        version = self.chance.choice((0, 1, 2, 3, 4))
        self.play.add_offsets(self.identity(self.client()), self.chance.choice(GROUPS), version=version)

    def produce(self) -> None:
        """Produce as the client should; where its transaction is open also a repetition, or with a gap."""
        client, partition = self.client(), self.chance.choice(PARTITIONS)
        sequence = client.sequences.get(partition, 0)
        version = self.chance.choice((9, 11, 12, 12, 13))
        if partition in client.opened and self.chance.random() < 0.15:
            sequence = max(sequence + self.chance.choice((-1, 2)), 0)
        values = ["a", "b", "c"][: self.chance.choice((1, 1, 3))]
        self.play.produce(client.producer, partition, sequence, *values, version=version)
        (topic,) = self.play.steps[-1]["answer"]["responses"]
        (result,) = topic["partition_responses"]
        if result["error_code"] == 0 and sequence == client.sequences.get(partition, 0):
            client.sequences[partition] = sequence + len(values)
            client.opened.add(partition)

    def produce_as_a_zombie(self) -> None:
        """End a script so: Kafka may refuse later batches of the same producer for it (lowest-sequence)."""
        client = self.client()
        others = [*self.zombies, client.producer.stranger(), client.producer.at(client.producer.epoch + 1)]
        for version in (9, 11, 12):
            self.play.produce(self.chance.choice(others), self.chance.choice(PARTITIONS), 0, "z", version=version)

    def end(self) -> None:
        client = self.client()
        producer, version = self.identity(client), self.chance.choice((0, 1, 2, 3, 4, 5, 5, 5, 5))
        after = self.play.end(producer, self.chance.random() < 0.6, version=version)
        if producer == client.producer and self.play.steps[-1]["answer"]["error_code"] == 0:
            client.renewed(after)

    # -- groups --------------------------------------------------------------------------------------------------

    def join(self) -> None:
        group = self.chance.choice(GROUPS)
        if group not in self.members:
            self.members[group] = self.play.join(group)

    def commit_in(self) -> None:
        group, member = self.chance.choice(GROUPS), ("", -1)
        if group in self.members and self.chance.random() < 0.7:
            member_id, generation = self.members[group]
            member = self.chance.choice(
                [(member_id, generation)] * 4 + [(member_id, generation + 1), ("x", generation)]
            )
        version = self.chance.choice((3, 4, 5, 5)) if member != ("", -1) else self.chance.choice((0, 2, 3, 4, 5, 5))
        offsets = {each: self.chance.randrange(100) for each in self.partitions() if not each.startswith("__")}
        self.play.commit_in(self.identity(self.client()), offsets or {"t-0": 1}, group, version=version, member=member)

    def commit(self) -> None:
        group = self.chance.choice([each for each in GROUPS if each not in self.members] or ["i"])
        self.play.commit({self.chance.choice(PARTITIONS): self.chance.randrange(100)}, group)

    def read_offsets(self) -> None:
        group = self.chance.choice(GROUPS)
        self.play.offsets(
            *PARTITIONS, group=group, stable=self.chance.random() < 0.6, all_topics=self.chance.random() < 0.2
        )

    def delete(self) -> None:
        group = self.chance.choice(GROUPS)
        if self.chance.random() < 0.7:
            self.play.delete_offsets(self.chance.choice(PARTITIONS), group)
        elif group not in self.members:
            self.play.delete_group(group)

    # -- readers and administrators ------------------------------------------------------------------------------

    def read(self) -> None:
        partition, committed = self.chance.choice(PARTITIONS), self.chance.random() < 0.7
        if self.chance.random() < 0.3:
            self.play.list_offsets(partition, committed=committed)
        else:
            self.play.fetch(partition, committed=committed, version=self.chance.choice((4, 11, 12)))

    def describe(self) -> None:
        what = self.chance.random()
        if what < 0.4:
            self.play.describe(*self.chance.sample((*NAMES, "unknown"), 2))
        elif what < 0.7:
            states = self.chance.sample(("Empty", "Ongoing", "CompleteCommit", "CompleteAbort", "Foo"), 2)
            self.play.list(*states, version=self.chance.choice((0, 1, 2)))
        else:
            self.play.describe_producers(*PARTITIONS)


@contextmanager
def both(folder: Path) -> Iterator[tuple[int, int]]:
    """Run a Kafka and a daemon with the settings of the cases; yields their ports."""
    kafka = kafka_of(folder / "kafka", Kind.ANY)
    settings = overrides(transactions.settings_of(Kind.ANY))
    with kafka, Daemon(folder / "ours", overrides=settings) as daemon:
        await_producer_ids(kafka)
        for port in (kafka.port, daemon.port):
            transactions.await_coordinator(port)
        yield kafka.port, daemon.port


def compare(ports: tuple[int, int], seed: str) -> tuple[int, str | None, Counter[str]]:
    """Play one script to both; return its steps, the first difference, and how often each request was sent."""
    answers = []
    for port in ports:
        play = Play(port, f"{seed.replace('/', '-')}.")
        Script(play, seed).run()
        answers.append({seed: play.steps})
    problems = transactions.differences(*answers)
    asked = Counter(step["ask"].partition(":")[0] for step in answers[1][seed] if "ask" in step)
    return len(answers[1][seed]), problems.get(seed), asked


def run(seeds: list[str], steps: int) -> int:
    """Compare until each seed has so many steps; returns the exit code."""
    found: list[str] = []
    asked: Counter[str] = Counter()
    total = 0
    with tempfile.TemporaryDirectory() as folder, both(Path(folder)) as ports:
        for seed in seeds:
            done = number = 0
            while done < steps:
                script, problem, sent = compare(ports, f"{seed}/{number}")
                done, number = done + script, number + 1
                asked += sent
                if problem is not None:
                    print(problem, flush=True)
                    found.append(problem)
            total += done
            print(f"seed {seed}: {done} steps, {len(found)} differences so far", flush=True)
    print(f"beside Apache Kafka {release()}; requests: {dict(sorted(asked.items()))}")
    print(f"steps: {total}  differences: {len(found)}")
    return 1 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default="1", help="a number, or a range as in 1-20")
    parser.add_argument("--steps", type=int, default=500)
    arguments = parser.parse_args()
    first, _, last = arguments.seed.partition("-")
    try:
        return run([str(each) for each in range(int(first), int(last or first) + 1)], arguments.steps)
    except KafkaMissingError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
