"""The rules of every store and directory, kept by the one on Kafka.

Needs Java and Kafka's jars, so `make interchange` runs it and `make test` does not.
"""

from __future__ import annotations

import pytest

from coordinator.storage.documents.shared import StoredDocument
from tests.engine.kafka.document_parts import half_written, parts_of
from tests.engine.kafka.nodes import KafkaNodes
from tests.support.log_store_kit import ClaimRaceRules, DirectoryRules, LogStoreRules
from tests.support.shared_documents_kit import SharedDocumentsRules

pytestmark = pytest.mark.integration


@pytest.fixture
def world(nodes: KafkaNodes) -> KafkaNodes:
    return nodes


class TestKafkaStore(LogStoreRules):
    pass


class TestKafkaRaces(ClaimRaceRules):
    pass


class TestKafkaDirectory(DirectoryRules):
    pass


class TestKafkaDocuments(SharedDocumentsRules):
    async def test_a_half_written_document_is_ignored_and_deleted(self, world: KafkaNodes) -> None:
        first, second = await world.node(), await world.node()
        await half_written(first.documents, "half", "x" * (2 << 20), parts=3)
        assert await second.documents.read("half") is None
        assert await second.documents.replace("half", "whole", 0)
        assert await first.documents.read("half") == StoredDocument(1, "whole")
        assert set(await parts_of(second.documents, "half")) == {"whole"}
