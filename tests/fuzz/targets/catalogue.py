"""`topics.json` and `producer-ids.json`: read, or refused with one sentence; a catalogue that is read can be served."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Final

from coordinator.config.config import Config
from coordinator.core.topics.catalogue import CatalogueError, Document, parse_document
from coordinator.core.topics.settings import settings_of
from coordinator.storage.catalogue_store import CatalogueStore, CatalogueStoreError
from coordinator.storage.file_names import CATALOGUE_NAME, PRODUCER_IDS_NAME
from tests.fuzz.edits import edited
from tests.fuzz.files import directory_with
from tests.fuzz.texts import other_json

HERE: Final = Path("/p")
CONFIG: Final = Config()


def check(data: bytes) -> None:
    store = CatalogueStore(HERE, CONFIG, directory_with(HERE, {CATALOGUE_NAME: data, PRODUCER_IDS_NAME: data}))
    try:
        document = store.load_catalogue()
    except CatalogueStoreError as error:
        assert "restore it from a copy" in str(error)
    else:
        _serve(document)
    try:
        assert 0 <= store.load_producer_ids() < 2**63
    except CatalogueStoreError as error:
        assert "write" in str(error)
    try:
        parse_document(data.decode(errors="replace"))
    except CatalogueError as error:
        assert str(error)


def _serve(document: Document) -> None:
    """Use every fact of a document as the server does."""
    assert 0 <= document.revision < 2**63
    for topic in document.topics:
        assert 1 <= topic.partitions < 2**31
        settings_of(topic.configs, CONFIG)
        assert all(-(2**31) <= node < 2**31 for node in topic.assigned.values())
        json.dumps(topic.configs)
    for deleted in document.deleted:
        assert 1 <= deleted.partitions < 2**31


def seeds() -> list[bytes]:
    topic = {"name": "orders", "id": "0a" * 16, "partitions": 3, "configs": {"retention.ms": "5000"}}
    spread = {"name": "spread", "id": "0b" * 16, "partitions": 2, "configs": {}, "assigned": {"0": 1, "1": 2}}
    gone = {"name": "gone", "id": "0c" * 16, "partitions": 1}
    full = {"version": 2, "lineage": "x", "revision": 7, "topics": [topic, spread], "deleted": [gone]}
    return [
        json.dumps(each).encode()
        for each in (
            {"version": 1, "topics": [], "deleted": []},
            full,
            full | {"nodes": {"": {"group.max.size": "7"}, "1": {"message.max.bytes": "9000"}}},
            {"reserved_up_to": 2000},
        )
    ] + [b"[" * 5_000]


def mutate(data: bytes, chance: Random) -> bytes:
    kind = chance.random()
    if kind < 0.15 or not data:
        data = chance.choice(SEEDS[:4])
    return other_json(data, chance) if kind < 0.7 else edited(data, chance)


SEEDS: Final = seeds()
