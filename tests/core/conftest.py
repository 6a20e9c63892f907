"""A new cluster in virtual time for each test of the core."""

from __future__ import annotations

import pytest

from tests.support.cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()
