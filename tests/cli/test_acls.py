"""`coordinator acls` in the data directory of a stopped daemon, and against brokers of Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.cli.main import main
from protocol.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse
from protocol.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse
from protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from tests.cli.command_line import CommandLine
from tests.support.scripted_broker import ScriptedBroker

ALICE = ("--allow-principal", "User:alice")


class Acls:
    """Commands in one data directory; each returns its rows."""

    def __init__(self, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._words = ("--data-dir", str(data_dir), "-o", "csv")
        self._capsys = capsys

    def __call__(self, *words: str) -> list[str]:
        self._capsys.readouterr()
        assert main(["acls", *words, *self._words]) == 0, self._capsys.readouterr().err
        return self._capsys.readouterr().out.splitlines()[1:]


@pytest.fixture
def acls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Acls:
    return Acls(tmp_path, capsys)


def test_a_rule_is_added_listed_and_removed(acls: Acls) -> None:
    row = ["TOPIC,orders,LITERAL,User:alice,*,ALL,ALLOW"]
    assert acls("add", *ALICE, "--topic", "orders") == row
    assert acls("add", *ALICE, "--topic", "orders") == row
    assert acls("list") == row
    assert acls("list", "--principal", "User:bob") == []
    assert acls("remove", *ALICE, "--topic", "orders") == row
    assert acls("list") == []


def test_every_combination_is_a_rule(acls: Acls) -> None:
    added = acls(
        "add",
        *(*ALICE, "--allow-principal", "User:CN=b,O=x", "--allow-host", "10.0.0.1", "--allow-host", "10.1.0.0/16"),
        *("--deny-principal", "User:*", "--operation", "Read", "--operation", "DESCRIBE_configs"),
        *("--topic", "a", "--group", "b", "--resource-pattern-type", "prefixed"),
    )
    assert len(added) == 2 * 2 * (2 * 2 + 1)
    assert 'TOPIC,a,PREFIXED,"User:CN=b,O=x",10.1.0.0/16,DESCRIBE_CONFIGS,ALLOW' in added
    assert "GROUP,b,PREFIXED,User:*,*,READ,DENY" in added


@pytest.mark.parametrize(
    ("words", "rules"),
    [
        (["--producer", "--topic", "t"], ["TOPIC t CREATE", "TOPIC t DESCRIBE", "TOPIC t WRITE"]),
        (
            ["--producer", "--topic", "t", "--transactional-id", "x"],
            [
                *("TOPIC t CREATE", "TOPIC t DESCRIBE", "TOPIC t WRITE"),
                *("TRANSACTIONAL_ID x DESCRIBE", "TRANSACTIONAL_ID x WRITE"),
            ],
        ),
        (["--consumer", "--topic", "t", "--group", "g"], ["GROUP g READ", "TOPIC t DESCRIBE", "TOPIC t READ"]),
        (
            ["--producer", "--consumer", "--topic", "t", "--group", "g"],
            ["GROUP g READ", "TOPIC t CREATE", "TOPIC t DESCRIBE", "TOPIC t READ", "TOPIC t WRITE"],
        ),
    ],
)
def test_a_role_adds_the_rules_of_kafkas_tool(acls: Acls, words: list[str], rules: list[str]) -> None:
    added = [row.split(",") for row in acls("add", *ALICE, *words)]
    assert sorted(f"{kind} {name} {operation}" for kind, name, _, _, _, operation, _ in added) == rules
    assert len(acls("remove", *ALICE, *words)) == len(rules)


def test_rules_are_found_by_the_resource_that_they_are_for(acls: Acls) -> None:
    acls("add", *ALICE, "--topic", "orders", "--topic", "*")
    acls("add", *ALICE, "--topic", "ord", "--resource-pattern-type", "prefixed")
    acls("add", *ALICE, "--cluster", "--operation", "Alter")

    def names(*words: str) -> list[str]:
        return [row.split(",")[1] for row in acls(*words)]

    assert names("list", "--topic", "orders") == ["orders"]
    assert names("list", "--topic", "orders", "--resource-pattern-type", "match") == ["*", "ord", "orders"]
    assert names("list", "--topic", "ord", "--resource-pattern-type", "any", "--cluster") == ["ord", "kafka-cluster"]
    assert names("remove", "--topic", "*", "--cluster") == ["*", "kafka-cluster"]
    assert names("list") == ["ord", "orders"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["add", *ALICE], "name a resource: --topic, --group, --transactional-id or --cluster"),
        (["remove"], "name a resource: --topic, --group, --transactional-id or --cluster"),
        (["add", "--topic", "t"], "say for whom: --allow-principal or --deny-principal, as User:alice"),
        (["add", *ALICE, "--topic", "t", "--deny-host", "h"], "--deny-host needs a principal; add --deny-principal"),
        (["add", *ALICE, "--topic", "t", "--resource-pattern-type", "match"], "a rule is for a name or a prefix"),
        (["add", *ALICE, "--topic", "t", "--operation", "ClusterAction"], "has no operation ClusterAction; choose"),
        (["add", *ALICE, "--topic", "t", "--producer", "--operation", "Read"], "say themselves what is allowed"),
        (["add", *ALICE, "--group", "g", "--producer"], "need a topic; add --topic"),
        (["add", *ALICE, "--topic", "t", "--consumer"], "needs a group; add --group"),
        (["add", *ALICE, "--topic", "t", "--cluster", "--producer"], "--producer has no rules for a resource of type"),
    ],
)
def test_a_call_without_a_meaning_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert main(["acls", *words, "--data-dir", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--allow-principal", "alice"], "argument --allow-principal: 'alice' has no type; write User:alice"),
        (["--operation", "Reed"], "argument --operation: there is no 'Reed'; choose from All, Read, Write,"),
    ],
)
def test_a_wrong_argument_is_named(capsys: pytest.CaptureFixture[str], words: list[str], sentence: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["acls", "add", "--topic", "t", *words])
    assert sentence in capsys.readouterr().err


def test_no_rule_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["list"], ["remove", "--topic", "t"]):
        assert main(["acls", *words, "--data-dir", str(tmp_path)]) == 0
        said = capsys.readouterr()
        assert not said.out
        assert said.err.startswith("no access rules")


def test_what_a_server_refuses_is_a_sentence_for_each_rule(capsys: pytest.CaptureFixture[str]) -> None:
    def create(request: CreateAclsRequest, version: int) -> CreateAclsResponse:
        return CreateAclsResponse(results=[AclCreationResult(), AclCreationResult(42, "not so")])

    def describe(request: DescribeAclsRequest, version: int) -> DescribeAclsResponse:
        return DescribeAclsResponse(error_code=54, error_message="No Authorizer is configured on the broker")

    def delete(request: DeleteAclsRequest, version: int) -> DeleteAclsResponse:
        return DeleteAclsResponse(filter_results=[DeleteAclsFilterResult(31, "") for _ in request.filters])

    with ScriptedBroker({CreateAclsRequest: create, DescribeAclsRequest: describe, DeleteAclsRequest: delete}) as kafka:
        acls = CommandLine(kafka.address, capsys)
        added = acls("acls", "add", *ALICE, "--topic", "a", "--topic", "b", "-o", "csv", code=1)
        listed = acls("acls", "list", code=1)
        removed = acls("acls", "remove", "--topic", "a", "--topic", "b", code=1)
    assert added.out.splitlines()[1:] == ["TOPIC,a,LITERAL,User:alice,*,ALL,ALLOW"]
    assert added.err == (
        "coordinator: ALLOW ALL for User:alice from * on TOPIC 'b' (LITERAL) was not added: INVALID_REQUEST: not so\n"
    )
    assert listed.err == (
        "coordinator: the access rules cannot be listed: SECURITY_DISABLED: No Authorizer is configured on the broker\n"
    )
    assert len(removed.err.splitlines()) == 1
    assert "access rules were not removed: CLUSTER_AUTHORIZATION_FAILED: " in removed.err
