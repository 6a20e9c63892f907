"""`coordinator users` against a daemon, against brokers of Kafka, and in the data directory of a stopped daemon."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coordinator.cli.main import main
from coordinator.cli.users import add
from coordinator.security.scram import BY_NAME, SCRAM_SHA_256, SCRAM_SHA_512, matches
from coordinator.storage.documents.users import UserStore
from coordinator.storage.log.fs import RealFileSystem
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from tests.cli.command_line import CommandLine
from tests.support.daemon import Daemon
from tests.support.scripted_broker import ScriptedBroker

Asks = Callable[..., None]

HEAD = ["USER", "MECHANISM", "ITERATIONS"]


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(add.PASSWORD_VARIABLE, "secret")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("daemon")) as running:
        yield running


@pytest.fixture
def command(daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(daemon.address, capsys)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Asks:
    """A terminal on which these words are typed."""

    def typed(*words: str) -> None:
        answers = list(words)
        monkeypatch.delenv(add.PASSWORD_VARIABLE)
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
        monkeypatch.setattr(add, "getpass", lambda prompt: answers.pop(0))

    return typed


def store_of(data_dir: Path) -> UserStore:
    return UserStore(RealFileSystem(), data_dir)


def has_password(data_dir: Path, password: str, user: str = "ann") -> bool:
    """True if it is the password of a user, in all of its mechanisms."""
    credentials = store_of(data_dir).credentials.users[user]
    return all(matches(mechanism, each, password) for mechanism, each in credentials.items())


@pytest.mark.integration
def test_users_are_added_listed_and_removed(command: CommandLine, daemon: Daemon) -> None:
    said = command("users", "add", "ann")
    assert said.lines == [HEAD, ["ann", "SCRAM-SHA-256", "4096"], ["ann", "SCRAM-SHA-512", "4096"]]
    words = ["--mechanism", "SCRAM-SHA-512", "--iterations", "5000", "--json"]
    rows = [{"user": "bob", "mechanism": "SCRAM-SHA-512", "iterations": 5000}]
    assert command("users", "add", "bob", *words).json == rows
    assert command("users", "list", "bob", "--json").json == rows
    assert command("users", "list").lines == [*said.lines, ["bob", "SCRAM-SHA-512", "5000"]]
    assert has_password(daemon.data_dir, "secret")

    said = command("users", "remove", "ann", "--mechanism", "SCRAM-SHA-256")
    assert said.lines == [["USER", "MECHANISM", "REMOVED"], ["ann", "SCRAM-SHA-256", "True"]]
    said = command("users", "remove", "ann", "-o", "csv")
    assert said.out == "user,mechanism,removed\nann,SCRAM-SHA-512,True\n"
    said = command("users", "list", "bob", "ann", "bob", "--json", code=1)
    assert said.json == rows
    assert said.err == "coordinator: there is no user 'ann'; `coordinator users list` shows those there are\n"
    command("users", "remove", "bob")
    assert (command("users", "list").out, command("users", "list").err) == ("", "no users\n")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["remove", "eve"], "there is no user 'eve'; `coordinator users list` shows those there are"),
        (
            ["remove", "eve", "--mechanism", "SCRAM-SHA-256"],
            "the SCRAM-SHA-256 password of 'eve' was not removed: RESOURCE_NOT_FOUND: Attempt to delete a user "
            "credential that does not exist",
        ),
        (
            ["add", "", "--mechanism", "SCRAM-SHA-512"],
            "the SCRAM-SHA-512 password of '' was not set: UNACCEPTABLE_CREDENTIAL: Username must not be empty",
        ),
    ],
)
def test_what_the_server_refuses_is_one_sentence(command: CommandLine, words: list[str], sentence: str) -> None:
    said = command("users", *words, code=1)
    assert (said.out, said.err) == ("", f"coordinator: {sentence}\n")


@pytest.mark.integration
def test_a_served_directory_is_left_to_its_daemon(daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["users", "list", "--data-dir", str(daemon.data_dir)]) == 2
    assert capsys.readouterr().err.startswith(f"coordinator: a daemon serves {daemon.data_dir}: name it with ")


def test_users_are_kept_in_the_directory_of_a_stopped_daemon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--data-dir", str(tmp_path)]
    assert main(["users", "add", "admin", *place]) == main(["users", "list", *place]) == 0
    rows = [["admin", "SCRAM-SHA-256", "4096"], ["admin", "SCRAM-SHA-512", "4096"]]
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [HEAD, *rows, HEAD, *rows]
    credentials = store_of(tmp_path).credentials.users["admin"]
    assert credentials.keys() == {SCRAM_SHA_256, SCRAM_SHA_512}
    assert len({each.salt for each in credentials.values()} | {b""}) == 3, "each has a salt of its own"
    assert has_password(tmp_path, "secret", "admin") and not has_password(tmp_path, "Secret", "admin")
    assert main(["users", "remove", "admin", *place]) == 0
    assert store_of(tmp_path).credentials.users == {}


@pytest.mark.parametrize("content", ["päss wörd", "päss wörd\n", "päss wörd\r\n"])
def test_the_password_is_the_content_of_a_file(tmp_path: Path, content: str) -> None:
    file = tmp_path / "password"
    file.write_bytes(content.encode())
    assert main(["users", "add", "ann", "--data-dir", str(tmp_path), "--password-file", str(file)]) == 0
    assert (tmp_path / "users.json").stat().st_mode & 0o777 == 0o600
    assert has_password(tmp_path, "päss wörd")


def test_the_password_is_asked_for_twice(tmp_path: Path, terminal: Asks, capsys: pytest.CaptureFixture[str]) -> None:
    terminal("typed", "typed")
    assert main(["users", "add", "ann", "--data-dir", str(tmp_path)]) == 0
    assert has_password(tmp_path, "typed")
    capsys.readouterr()


@pytest.mark.parametrize(
    ("typed", "sentence"), [(["a", "b"], "the two passwords differ"), (["", ""], "the password is empty")]
)
def test_a_password_typed_wrongly_is_not_set(
    tmp_path: Path, terminal: Asks, capsys: pytest.CaptureFixture[str], typed: list[str], sentence: str
) -> None:
    terminal(*typed)
    assert main(["users", "add", "ann", "--data-dir", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"coordinator: {sentence}; ")
    assert store_of(tmp_path).credentials.users == {}


def test_without_a_password_the_sentence_says_how_to_give_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(add.PASSWORD_VARIABLE)
    assert main(["users", "add", "ann", "--data-dir", str(tmp_path)]) == 2
    assert "there is no password: name its file with --password-file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["list", "--data-dir", "{tmp}/x"], "there is no directory {tmp}/x; "),
        (["add", "ann", "--password-file", "{tmp}/x"], "the file of the password cannot be read (No such file"),
        (["add", "ann", "--password-file", "{tmp}/latin-1"], "the password is not UTF-8, as clients send it; "),
        (["list", "--data-dir", "{tmp}/broken"], "the file of users {tmp}/broken/users.json cannot be used: it is not"),
    ],
)
def test_a_wrong_call_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    (tmp_path / "latin-1").write_bytes("pässwörd".encode("latin-1"))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "users.json").write_text("{}")
    assert main(["users", *(word.replace("{tmp}", str(tmp_path)) for word in words)]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"coordinator: {sentence.replace('{tmp}', str(tmp_path))}")
    assert (said.out, said.err.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["add", "ann", "--iterations", "4095"], "argument --iterations: 4095 is not from 4096 to 16384"),
        (["add", "ann", "--iterations", "many"], "argument --iterations: invalid"),
        (["add", "ann", "--mechanism", "SCRAM-SHA-1"], "argument --mechanism: there is no 'SCRAM-SHA-1'; did you mean"),
        (["add", "\udce4nn"], "argument USER: invalid user_name value"),
    ],
)
def test_a_wrong_argument_is_named(capsys: pytest.CaptureFixture[str], words: list[str], sentence: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["users", *words])
    assert sentence in capsys.readouterr().err


def metadata(request: MetadataRequest, version: int) -> MetadataResponse:
    return MetadataResponse(brokers=[MetadataResponseBroker(7, "not-resolvable.invalid", 9092)], controller_id=7)


def test_a_kafka_with_zookeeper_is_asked_by_its_controller(capsys: pytest.CaptureFixture[str]) -> None:
    """Other nodes answer NOT_CONTROLLER. A user of two mechanisms takes two requests, in every Kafka."""
    answers = [ErrorCode.NOT_CONTROLLER, ErrorCode.NONE, ErrorCode.NONE]
    seen: list[int] = []

    def alter(request: AlterUserScramCredentialsRequest, version: int) -> AlterUserScramCredentialsResponse:
        (upsertion,) = request.upsertions
        seen.append(upsertion.mechanism)
        return AlterUserScramCredentialsResponse(
            results=[AlterUserScramCredentialsResult(upsertion.name, answers.pop(0), None)]
        )

    with ScriptedBroker({AlterUserScramCredentialsRequest: alter, MetadataRequest: metadata}) as kafka:
        assert len(CommandLine(kafka.address, capsys)("users", "add", "ann", "--json").json) == len(BY_NAME)
    assert seen == [1, 1, 2]


def test_a_mechanism_of_a_later_kafka_has_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    def describe(request: DescribeUserScramCredentialsRequest, version: int) -> DescribeUserScramCredentialsResponse:
        assert request.users is None
        return DescribeUserScramCredentialsResponse(
            results=[DescribeUserScramCredentialsResult("ann", 0, None, [CredentialInfo(3, 9000)])]
        )

    with ScriptedBroker({DescribeUserScramCredentialsRequest: describe}) as kafka:
        said = CommandLine(kafka.address, capsys)("users", "list", "-o", "csv")
    assert said.out == "user,mechanism,iterations\nann,SCRAM mechanism 3,9000\n"


def test_a_refused_list_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def describe(request: DescribeUserScramCredentialsRequest, version: int) -> DescribeUserScramCredentialsResponse:
        return DescribeUserScramCredentialsResponse(error_code=31, error_message="not for you")

    with ScriptedBroker({DescribeUserScramCredentialsRequest: describe}) as kafka:
        said = CommandLine(kafka.address, capsys)("users", "list", code=1)
    assert said.err == "coordinator: the users cannot be listed: CLUSTER_AUTHORIZATION_FAILED: not for you\n"
