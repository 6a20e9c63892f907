"""One run of a simulation with transactional producers, beside all other clients.

At the end, when every producer has ended and every transaction is over its timeout, the logs are read as a reader of
committed records does. Each record of a committed transaction must be there once, none of an aborted one, and of one
whose end is not known all or none; its offset likewise. No transaction may be open, and no partition hold readers back.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from coordinator.core.transactions.states import IDLE
from coordinator.simulation.run import TOPICS, Simulation
from coordinator.simulation.transactions import LEDGER, PARTITIONS, End, TransactionalProducer
from protocol.record_batch import ControlType, control_type, read_records

if TYPE_CHECKING:
    import random

    from coordinator.server.runtime import Runtime
    from coordinator.simulation.transactions import Attempt

MOST_PRODUCERS: Final = 3


class TransactionSimulation(Simulation):
    """A world with transactional producers."""

    preloaded = MappingProxyType({**TOPICS, LEDGER: PARTITIONS})
    settings = MappingProxyType(
        {"transaction.state.log.num.partitions": "3", "transaction.state.log.segment.bytes": "4096"}
    )

    def _make_others(self, chance: random.Random) -> None:
        super()._make_others(chance)
        self._producers: list[TransactionalProducer] = []
        for number in range(chance.randint(1, MOST_PRODUCERS)):
            producer = self._client(TransactionalProducer)
            producer.transactional_id, producer.group = f"tx-{number}", f"ledger-{number}"
            producer.attempts, producer.owner_of = [], self.owner_of
            self._producers.append(producer)

    def _start_again(self) -> None:
        self._check_ledger()
        if self.world.violation is None:
            super()._start_again()
        if self.world.violation is None:
            self._check_ledger()

    # -- the verdict ---------------------------------------------------------------------------------------------

    def _check_ledger(self) -> None:
        for node in self.nodes.values():
            transactions = None if node.runtime is None else node.runtime.transactions
            for partition in () if transactions is None else transactions.core.partitions:
                for entry in partition.entries.values():
                    if entry.current.state not in IDLE:
                        self.world.violated(f"{node.name}: {entry!r} is open, although its producer ended long ago")
        visible = [self._visible(number) for number in range(PARTITIONS)]
        for producer in self._producers:
            last_offset = -1
            for attempt in producer.attempts:
                if self._is_visible(attempt, visible) and attempt.offset >= 0:
                    last_offset = attempt.offset
            self._check_offset(producer.group, last_offset)

    def _is_visible(self, attempt: Attempt, visible: list[dict[str, int]]) -> bool:
        """Return whether the records of an attempt are visible; they must be so in all partitions, or in none."""
        counts = [visible[partition].get(value, 0) for partition, values in attempt.values.items() for value in values]
        expected = {End.COMMITTED: {1}, End.ABORTED: {0}}.get(attempt.end)
        if set(counts) not in ([expected] if expected is not None else [{0}, {1}]) and counts:
            self.world.violated(f"{attempt!r}: its records are visible so often: {counts}")
        return bool(counts) and counts[0] == 1

    def _visible(self, number: int) -> dict[str, int]:
        """Return how often each record of a partition is seen by a reader of committed records."""
        runtime = self._runtime_of(number)
        partition = runtime.topics.catalogue.partition(LEDGER, number)
        log = None if partition is None else runtime.topic_logs.log(partition)
        if partition is None or log is None:
            self.world.violated(f"{LEDGER}-{number} is not served at the end")
            return {}
        found: dict[str, int] = {}
        pending: dict[int, list[str]] = {}
        for header, batch in log.batches():
            records = read_records(batch, 0, header)
            if not header.is_control:
                pending.setdefault(header.producer_id, []).extend((each.value or b"").decode() for each in records)
                continue
            ended = pending.pop(header.producer_id, [])
            for value in ended if control_type(records[0]) is ControlType.COMMIT else ():
                found[value] = found.get(value, 0) + 1
        if pending or partition.last_stable_offset != partition.high_watermark:
            self.world.violated(
                f"{LEDGER}-{number} holds readers back at {partition.last_stable_offset} of"
                f" {partition.high_watermark}: {pending}"
            )
        return found

    def _check_offset(self, group: str, expected: int) -> None:
        runtime = self.nodes[self._coordinator_of(group)].runtime
        assert runtime is not None
        store = runtime.core.partition(runtime.core.partition_for(group)).offsets
        committed = store.get(group, LEDGER, 0)
        if (-1 if committed is None else committed.offset) != expected:
            self.world.violated(f"{group} has committed {committed}, and its last transaction {expected}")
        if store.has_pending(group):
            self.world.violated(f"{group} has pending offsets, although all transactions are over")

    def _runtime_of(self, number: int) -> Runtime:
        runtime = self.nodes[self.owner_of(LEDGER, number)].runtime
        assert runtime is not None
        return runtime
