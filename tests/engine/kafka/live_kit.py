"""The rules of every store and directory, kept by the one on Kafka.

Needs Java and Kafka's jars, so `make interchange` runs it and `make test` does not.
"""

from __future__ import annotations

import pytest

from tests.engine.kafka.nodes import KafkaNodes
from tests.support.log_store_kit import ClaimRaceRules, DirectoryRules, LogStoreRules

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
