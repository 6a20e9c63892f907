"""The numbers of partitions in a shared store."""

from __future__ import annotations

from dataclasses import replace

from coordinator.config.config import Config
from coordinator.storage.store_partitions import StorePartitions

CONFIG = Config(
    offsets_topic_num_partitions=5,
    transaction_state_log_num_partitions=3,
    log_engine="postgresql://none/none",
    topics_storage="local",
)


def test_partitions_of_the_transaction_log_follow_those_of_the_offsets_log() -> None:
    partitions = StorePartitions.of(CONFIG)
    assert partitions == StorePartitions(5, 3)
    assert [partitions.place(number) for number in range(partitions.total)] == [
        *(("__consumer_offsets", each) for each in range(5)),
        *(("__transaction_state", each) for each in range(3)),
    ]
    for number in range(5, 8):
        partition = partitions.transaction_partition(number)
        assert partition is not None
        assert partitions.number_of_transaction_partition(partition) == number
    assert partitions.transaction_partition(4) is None


def test_without_topics_no_transactions_are_served() -> None:
    assert StorePartitions.of(replace(CONFIG, topics_storage="auto")) == StorePartitions(5)
