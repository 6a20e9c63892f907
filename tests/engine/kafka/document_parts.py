"""The parts of shared documents in the topic: a writer that dies in the middle, and what is left after deletions."""

from __future__ import annotations

from typing import cast

import pytest

from coordinator.engine.kafka.client import EARLIEST, LATEST, KafkaClient, TopicPlace
from coordinator.engine.kafka.documents import KafkaDocuments
from coordinator.engine.kafka.log_reader import raw_batches
from coordinator.storage.documents.shared import SharedDocuments
from coordinator.storage.log_store import LogStoreError
from protocol.record_batch import read_records


class DyingClient(KafkaClient):
    """A client that stops for ever behind some appends to a partition."""

    place: TopicPlace
    appends = 0

    async def produce(self, place: TopicPlace, batch: bytes | bytearray) -> int:
        if place == self.place:
            if not self.appends:
                raise LogStoreError("killed")
            self.appends -= 1
        return await super().produce(place, batch)


async def half_written(documents: SharedDocuments, name: str, text: str, *, parts: int) -> None:
    """Have a node die in the middle of a change, behind `parts` parts. It may be used again."""
    kafka = cast(KafkaDocuments, documents)
    client = kafka._client
    client.__class__, client.place, client.appends = DyingClient, kafka._topics.parts, parts  # type: ignore
    with pytest.raises(LogStoreError, match="killed"):
        await documents.replace(name, text, ((newest := await documents.read(name)) and newest.revision) or 0)
    client.__class__ = KafkaClient


async def parts_of(documents: SharedDocuments, name: str) -> list[str]:
    """Return the content of all parts of a document that are in the topic and not deleted, in their order."""
    kafka = cast(KafkaDocuments, documents)
    place = kafka._topics.parts
    start, end = [await kafka._client.offset_at(place, each) for each in (EARLIEST, LATEST)]
    found: dict[bytes, bytes | None] = {}
    async for batch, header in raw_batches(kafka._client, place, start, end, 1 << 20):
        found.update({record.key or b"": record.value for record in read_records(batch, 0, header)})
    return [value.decode() for key, value in found.items() if key.startswith(f"{name}/".encode()) and value is not None]
