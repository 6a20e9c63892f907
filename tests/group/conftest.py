"""A fresh cluster for each test of the group core."""

from __future__ import annotations

import pytest

from tests.support.cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()
