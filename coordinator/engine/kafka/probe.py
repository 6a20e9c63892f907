"""The start-up probe: proves that this cluster refuses a producer whose transactional id was taken over.

Kafka promises that for transactions. For batches outside of them it is so from the first batch of the new producer on,
which other servers with Kafka's protocol may not know. The probe uses a transactional id and a partition of its own.
"""

from __future__ import annotations

from coordinator.engine.kafka.client import BrokerError, KafkaClient, ProducerIdentity, TopicPlace
from coordinator.engine.kafka.row_append import FENCED
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.log_store import LogStoreError
from protocol.record_batch import build_batch


async def prove_fencing(client: KafkaClient, place: TopicPlace, transactional_id: str) -> None:
    """Raise LogStoreError unless a former producer is refused and a repeated batch is kept once."""
    former = await client.init_producer(transactional_id)
    first = await _append(client, place, former, 0)
    if await _append(client, place, former, 0) != first:
        raise _unusable(client, "it keeps a batch twice that is sent twice")
    newer = await client.init_producer(transactional_id)
    if newer.id != former.id:  # its epochs were used up: this producer is another one
        former, newer = newer, await client.init_producer(transactional_id)
        await _append(client, place, former, 0)
    await _append(client, place, newer, 0)
    try:
        await _append(client, place, former, 1)
    except BrokerError as error:
        if error.code not in FENCED:
            raise _unusable(client, f"it answers a former producer with {error.code.name}") from None
    else:
        raise _unusable(client, "it takes batches of a former producer")
    await _append(client, place, newer, 1)


async def _append(client: KafkaClient, place: TopicPlace, producer: ProducerIdentity, sequence: int) -> int:
    batch = build_batch(
        [(b"probe", b"")],
        timestamp_ms=wall_ms(),
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
    )
    return await client.produce(place, batch)


def _unusable(client: KafkaClient, fault: str) -> LogStoreError:
    return LogStoreError(
        f"log.engine cannot be used: the server at {client.address} does not fence producers as Kafka does ({fault}); "
        "use an Apache Kafka, or PostgreSQL",
        may_pass=False,
    )
