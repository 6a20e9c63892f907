"""The numbers that partitions of two topics have in a shared store, where a claim names one number.

Those of the offsets log come first, so that they keep the numbers of stores without transactions. Those of the
transaction log follow: partition k of `__transaction_state` is k behind the last partition of the offsets log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.topics.names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC

if TYPE_CHECKING:
    from coordinator.config.config import Config


class StorePartitions(NamedTuple):
    """Numbers of partitions of the two topics in a store."""

    offsets: int
    transactions: int = 0

    @classmethod
    def of(cls, config: Config) -> StorePartitions:
        """Return those that nodes claim. Without topics nothing is transactional."""
        return cls(
            config.offsets_topic_num_partitions,
            config.transaction_state_log_num_partitions if config.has_topics else 0,
        )

    @property
    def total(self) -> int:
        return self.offsets + self.transactions

    def transaction_partition(self, number: int) -> int | None:
        """Return the partition of the transaction log that has a number; None: the number is of the offsets log."""
        return number - self.offsets if number >= self.offsets else None

    def number_of_transaction_partition(self, partition: int) -> int:
        """Return the number of a partition of the transaction log."""
        return self.offsets + partition

    def place(self, number: int) -> tuple[str, int]:
        """Return the topic and the partition that have a number."""
        partition = self.transaction_partition(number)
        return (OFFSETS_TOPIC, number) if partition is None else (TRANSACTIONS_TOPIC, partition)


ONLY_OFFSETS: Final = StorePartitions(1 << 31)  # each number is that of a partition of the offsets log
