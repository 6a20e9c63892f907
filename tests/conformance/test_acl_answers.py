"""The recorded answers of a real Kafka 4.4 to users with different rights, and those of this daemon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coordinator.server.api.authorization.table import CHECKS
from protocol.api_keys import ApiKey
from tests.conformance import acl_cases as acl
from tests.conformance.acl_requests import REQUESTS
from tests.conformance.script import key_of
from tests.conformance.servers import secured_daemon


def test_every_api_of_kafka_that_needs_rights_has_a_request() -> None:
    assert {key_of(each.api) for each in REQUESTS} == {key for key in CHECKS if ApiKey(key).is_kafkas}


@pytest.mark.integration
async def test_users_get_kafkas_answers_by_their_rights(tmp_path: Path) -> None:
    with secured_daemon(tmp_path, acl.RULES, acl.SETTINGS) as daemon:
        port = daemon.ports["PLAINTEXT"]
        server = acl.Server(port, daemon.ports["SASL"], port)
        await acl.prepare(server)
        versions = acl.versions_of_both(json.loads(acl.RECORDED.read_text())["versions"])
        ours = await acl.play(server, versions)
    assert ours.keys() == acl.recorded().keys()
    problems, known = acl.compare(ours)
    assert not problems, "\n".join([f"{len(problems)} answers differ:", *problems[:5]])
    assert known.keys() == {each.name for each in acl.KNOWN}


def test_no_rule_forgives_a_right_too_many_or_too_few() -> None:
    requests = {each.name: each for each in REQUESTS}
    compared = 0
    for name, row in acl.recorded().items():
        request = requests[name.rpartition(", v")[0]]
        refused, served = row["nothing"], row["everything"]
        if refused == served:
            continue
        assert acl.known_difference(request, refused, served) is None, name
        assert acl.known_difference(request, served, refused) is None, name
        compared += 1
    assert compared > 80
