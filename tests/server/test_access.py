"""The rights of a client in one request, and the lines of the audit log."""

from __future__ import annotations

import logging

import pytest

from coordinator.security.acl.authorizer import Authorizer
from coordinator.security.acl.model import (
    CLUSTER,
    AclBinding,
    AclOperation,
    PatternType,
    Permission,
    Resource,
    ResourceType,
)
from coordinator.security.principal import Principal
from coordinator.server.access import LOG, AuditedAccess
from coordinator.server.line_limit import LineLimit
from coordinator.server.log_format import LineFormatter
from protocol.api_keys import ApiKey

ORDERS = Resource(ResourceType.TOPIC, "orders")
ALLOWED = AclBinding(
    ResourceType.TOPIC, "ord", PatternType.PREFIXED, "User:alice", "*", AclOperation.READ, Permission.ALLOW
)
AUTHORIZER = Authorizer({ALLOWED: None})


def access(host: str = "::1") -> AuditedAccess:
    return AuditedAccess(AUTHORIZER, Principal("User", "alice"), host, ApiKey.OFFSET_FOR_LEADER_EPOCH)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, LOG.name)
    caplog.handler.setFormatter(LineFormatter())
    return caplog


def test_what_is_refused_and_what_is_allowed_is_written_in_kafkas_words(log: pytest.LogCaptureFixture) -> None:
    client = access()
    assert not client.may(AclOperation.WRITE, ORDERS, count=2)
    assert client.may(AclOperation.DESCRIBE, ORDERS)
    assert [(each.levelname, each.getMessage()) for each in log.records] == [
        (
            "INFO",
            "Principal = User:alice is Denied operation = WRITE from host = 0:0:0:0:0:0:0:1 on resource = "
            "Topic:LITERAL:orders for request = OffsetForLeaderEpoch with resourceRefCount = 2 based on rule "
            "DefaultDeny",
        ),
        (
            "DEBUG",
            "Principal = User:alice is Allowed operation = DESCRIBE from host = 0:0:0:0:0:0:0:1 on resource = "
            "Topic:LITERAL:orders for request = OffsetForLeaderEpoch with resourceRefCount = 1 based on rule "
            "MatchingAcl(acl=StandardAcl[resourceType=TOPIC, resourceName=ord, patternType=PREFIXED, "
            "principal=User:alice, host=*, operation=READ, permissionType=ALLOW])",
        ),
    ]


def test_a_question_is_not_written(log: pytest.LogCaptureFixture) -> None:
    client = access()
    assert not client.may(AclOperation.WRITE, ORDERS, is_logged=False)
    assert client.operations(ORDERS) == 1 << AclOperation.READ | 1 << AclOperation.DESCRIBE
    assert client.operations(CLUSTER) == 0
    assert client.may_on_any(AclOperation.READ, ResourceType.TOPIC)
    assert not client.may_on_any(AclOperation.WRITE, ResourceType.TOPIC)
    assert not log.records


def test_one_request_writes_a_line_for_each_kind_of_refusal(log: pytest.LogCaptureFixture) -> None:
    client = access()
    for number in range(100):
        client.may(AclOperation.WRITE, Resource(ResourceType.TOPIC, f"t{number}"))
        client.may(AclOperation.READ, Resource(ResourceType.GROUP, f"g{number}"))
    assert len(log.records) == 2


def test_a_client_that_tries_again_is_named_once_a_minute(log: pytest.LogCaptureFixture) -> None:
    for host in ("10.0.0.1", "10.0.0.2"):
        for number in range(50):
            access(host).may(AclOperation.WRITE, Resource(ResourceType.TOPIC, f"t{number}"))
    limit = LineLimit(lambda: 0.0)
    assert len(log.records) == 100
    assert len([each for each in log.records if limit.filter(each)]) == 2


def test_a_name_cannot_begin_another_line(log: pytest.LogCaptureFixture) -> None:
    access().may(AclOperation.READ, Resource(ResourceType.GROUP, "a\nready listen=evil \x1b[31m"))
    (line,) = log.handler.format(log.records[0]).splitlines()
    assert r"Group:LITERAL:a\nready listen=evil \x1b[31m for request" in line
