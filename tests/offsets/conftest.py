"""A fresh cluster for each test of committed offsets."""

from __future__ import annotations

import pytest

from tests.support.cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()
