"""Tests of docs/security.md and secure-cluster.md: each request has its rights, and the settings can be loaded."""

from __future__ import annotations

import re

from coordinator.config.security import MECHANISMS
from coordinator.config.sources import load
from coordinator.security.acl.model import AclOperation
from coordinator.server.api.authorization.table import CHECKS, UNGUARDED
from protocol.api_keys import ApiKey
from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def rows() -> list[list[str]]:
    table = PAGE.partition("| Request | Right |\n")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]


def test_each_request_has_a_row_that_names_rights() -> None:
    named = [name for requests, _ in rows() for name in requests.split(", ")]
    served = {ApiKey(key).name.title().replace("_", "") for key in UNGUARDED | CHECKS.keys()}
    assert sorted(named) == sorted(served)
    for _, right in rows():
        words = re.findall(r"\b[A-Z_]{4,}\b", right)
        assert words or right.startswith("none")
        assert all(word in AclOperation.__members__ for word in words)


def test_each_mechanism_is_explained() -> None:
    assert all(f"| {name}" in PAGE or f", {name} |" in PAGE for name in MECHANISMS)


def test_the_settings_of_a_cluster_can_be_loaded() -> None:
    page = (ROOT / "docs" / "secure-cluster.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```properties\n(.*?)```", page, re.DOTALL)
    config = load(block)
    assert config.inter_broker_listener.name == "NODES"
    assert config.has_node_logins
    assert config.node_addresses.keys() == config.node_addresses_of("NODES").keys()
