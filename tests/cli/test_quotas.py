"""`coordinator quotas` against a server that decides as this coordinator does, and against what a Kafka may answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coordinator.cli.main import main
from coordinator.security.quotas.changes import alter, describe
from coordinator.security.quotas.model import NO_QUOTAS, QuotaMap
from protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse
from protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from tests.cli.command_line import CommandLine
from tests.support.scripted_broker import ScriptedBroker

HEAD = ["USER", "CLIENT-ID", "IP", "QUOTA", "VALUE"]


class QuotaBroker:
    """A broker with quotas."""

    def __init__(self) -> None:
        self.quotas: QuotaMap = NO_QUOTAS

    def alter(self, request: AlterClientQuotasRequest, version: int) -> AlterClientQuotasResponse:
        self.quotas, response = alter(request, 10, self.quotas)
        return response

    def describe(self, request: DescribeClientQuotasRequest, version: int) -> DescribeClientQuotasResponse:
        response = DescribeClientQuotasResponse()
        for _ in describe(request, self.quotas, response):
            pass
        return response


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Iterator[CommandLine]:
    made = QuotaBroker()
    with ScriptedBroker({AlterClientQuotasRequest: made.alter, DescribeClientQuotasRequest: made.describe}) as broker:
        yield CommandLine(broker.address, capsys)


def test_quotas_are_set_listed_and_removed(command: CommandLine) -> None:
    said = command("quotas", "set", "--user", "ann", "--client-id", "etl", "request_rate=100", "request_percentage=2.5")
    rate = ["ann", "etl", "-", "request_rate", "100"]
    share = ["ann", "etl", "-", "request_percentage", "2.5"]
    assert said.lines == [HEAD, rate, share]
    command("quotas", "set", "--user-default", "producer_byte_rate=1048576")
    command("quotas", "set", "--ip", "::1", "connection_creation_rate=5")
    others = [
        ["<default>", "-", "-", "producer_byte_rate", "1048576"],
        ["-", "-", "::1", "connection_creation_rate", "5"],
    ]
    assert command("quotas", "list").lines == [HEAD, others[1], share, rate, others[0]]
    assert command("quotas", "list", "--user", "ann", "-o", "json").json == [
        {"user": "ann", "client_id": "etl", "ip": None, "quota": "request_percentage", "value": 2.5},
        {"user": "ann", "client_id": "etl", "ip": None, "quota": "request_rate", "value": 100},
    ]

    words = ["quotas", "remove", "--user", "ann", "--client", "etl"]
    said = command(*words, "request_rate", "consumer_byte_rate", code=1)
    assert said.lines == [[*HEAD[:-1], "REMOVED"], ["ann", "etl", "-", "request_rate", "True"]]
    assert said.err == "coordinator: there is no quota 'consumer_byte_rate' of user 'ann' with client-id 'etl'\n"
    assert command("quotas", "list", "--client-id", "etl").lines == [HEAD, share]
    command(*words)
    command("quotas", "remove", "--user-defaults")
    command("quotas", "remove", "--ip", "::1")
    assert (command("quotas", "list").out, command("quotas", "list").err) == ("", "no quotas\n")
    assert command("quotas", "list", "--json").json == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["set", "--user", "ann", "x=1"],
            "the quotas of user 'ann' were not changed: INVALID_REQUEST: Invalid configuration key x",
        ),
        (
            ["set", "--ip-default", "--client-defaults", "connection_creation_rate=1"],
            "the quotas of the default ip with the default client-id were not changed: INVALID_REQUEST: Invalid quota "
            "entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        (
            ["remove", "--user", "eve"],
            "there are no quotas of user 'eve'; `coordinator quotas list` shows those there are",
        ),
        (
            ["list", "--ip", "::1", "--user", "ann"],
            "the quotas cannot be listed: INVALID_REQUEST: Invalid entity filter component combination. IP filter "
            "component should not be used with user or clientId filter component.",
        ),
    ],
)
def test_what_the_server_refuses_is_one_sentence(command: CommandLine, words: list[str], sentence: str) -> None:
    said = command("quotas", *words, code=1)
    assert (said.out, said.err) == ("", f"coordinator: {sentence}\n")


@pytest.mark.parametrize("words", [["set", "request_rate=1"], ["remove"]])
def test_an_entity_must_be_named(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main(["quotas", *words]) == 2
    assert capsys.readouterr().err.startswith("coordinator: no entity is named; add --user, --client-id, both, or --ip")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["set", "--user", "ann"], "the following arguments are required: QUOTA=VALUE"),
        (["set", "--user", "ann", "request_rate"], "argument QUOTA=VALUE: invalid quota value: 'request_rate'"),
        (["set", "--user", "ann", "request_rate=many"], "argument QUOTA=VALUE: invalid quota value"),
        (["list", "--user", "\udce4nn"], "argument --user: invalid name value"),
        (["list", "--user", "ann", "--user-default"], "--user-defaults: not allowed with argument --user"),
    ],
)
def test_a_wrong_argument_is_named(capsys: pytest.CaptureFixture[str], words: list[str], sentence: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["quotas", *words])
    assert sentence in capsys.readouterr().err
