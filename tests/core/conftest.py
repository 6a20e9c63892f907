"""Fixture for the tests of the core: a new cluster in virtual time."""

from __future__ import annotations

import pytest

from tests.support.cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()
