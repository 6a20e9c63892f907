"""Commands with `--http`: a port with TLS, a token or client certificates, and what is said if a setting is missing."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from coordinator.cli.http_port import http_settings
from coordinator.cli.main import main
from coordinator.config.config import Config
from coordinator.config.listeners import HTTP
from coordinator.config.values import ConfigError
from coordinator.http.parts import HttpParts
from coordinator.http.port import open_http
from coordinator.metrics.health import ServerStatus
from coordinator.testing import Coordinator, CoordinatorTestingError
from coordinator.testing.errors import VerbTokenError
from coordinator.testing.http import VerbCommands
from coordinator.testing.http_client import post_verb
from tests.console.test_routes import Source
from tests.support.certificates import Authority, Issued

pytestmark = pytest.mark.integration

TOKEN: Final = "s3cret-of-http"
VERBS_TOKEN: Final = "s3cret-of-verbs"
TOKENS: Final = {"http_token": TOKEN, "test_verbs_token": VERBS_TOKEN}
VARIABLES: Final = ("COORDINATOR_HTTP_TOKEN", "COORDINATOR_TEST_VERBS_TOKEN", "COORDINATOR_COMMAND_CONFIG")
COMMANDS: Final = (["groups", "explain", "shop"], ["faults"])
KEYS: Final = ("http.token", "test.verbs.token")
BOTH: Final = pytest.mark.parametrize("which", [0, 1], ids=["explain", "faults"])


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def own(authority: Authority) -> Issued:
    return authority.issue("http")


@pytest.fixture(scope="module")
def coordinator() -> Iterator[Coordinator]:
    with Coordinator() as running:
        yield running


@contextmanager
def port(coordinator: Coordinator, settings: dict[str, Any], **tls: str) -> Iterator[str]:
    """An HTTP port with a console and verbs; yields its address."""
    of_http = tuple((HTTP, f"ssl_{name}", value) for name, value in tls.items())
    config = Config(http_listen="127.0.0.1:0", is_http_given=True, listener_settings=of_http, **settings)
    ready, source = ServerStatus(True, ""), Source()

    async def made() -> VerbCommands:
        return VerbCommands(coordinator.verbs, asyncio.get_running_loop(), config.test_verbs_token)

    opened = open_http(config, HttpParts(lambda: ready, coordinator.run(made()), lambda: source))
    assert opened is not None
    try:
        yield opened.bound
    finally:
        opened.close()


@pytest.fixture(scope="module")
def plain(coordinator: Coordinator) -> Iterator[str]:
    with port(coordinator, {}) as address:
        yield address


@pytest.fixture(scope="module")
def with_token(coordinator: Coordinator) -> Iterator[str]:
    with port(coordinator, TOKENS) as address:
        yield address


@pytest.fixture(scope="module")
def with_tls(coordinator: Coordinator, own: Issued) -> Iterator[str]:
    with port(coordinator, TOKENS, keystore_location=str(own.pem)) as address:
        yield address


@pytest.fixture(scope="module")
def with_client_certificates(coordinator: Coordinator, own: Issued, authority: Authority) -> Iterator[str]:
    of_clients = {"client_auth": "required", "truststore_location": str(authority.pem)}
    with port(coordinator, {}, keystore_location=str(own.pem), **of_clients) as address:
        yield address


Say = Callable[..., tuple[int, str]]


@pytest.fixture
def say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Say:
    """Run one of the commands at an address, with these settings in a file; returns the exit code and its sentence."""

    def run(which: int, address: str, **settings: str) -> tuple[int, str]:
        words = [*COMMANDS[which], "--http", address]
        if settings:
            file = tmp_path / "client.properties"
            lines = {key.replace("_", "."): value for key, value in settings.items()}
            file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
            words += ["--command-config", str(file)]
        code = main([*words, "groups"] if which else words)
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        assert TOKEN not in said.err + said.out
        assert VERBS_TOKEN not in said.err + said.out
        return code, said.err.strip()

    return run


def secret(which: int) -> dict[str, str]:
    return {KEYS[which].replace(".", "_"): (TOKEN, VERBS_TOKEN)[which]}


@BOTH
@pytest.mark.parametrize("form", ["{}", "http://{}", "HTTP://{}/"])
def test_a_port_without_tls_is_asked_by_its_address(say: Say, plain: str, which: int, form: str) -> None:
    assert say(which, form.format(plain)) == (0, "")


@BOTH
def test_the_token_is_in_the_file(say: Say, with_token: str, which: int) -> None:
    assert say(which, with_token, **secret(which)) == (0, "")


@BOTH
def test_the_token_is_in_the_environment_which_is_stronger(
    say: Say, with_token: str, which: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (value,) = secret(which).values()
    monkeypatch.setenv(VARIABLES[which], value)
    assert say(which, with_token) == (0, "")
    assert say(which, with_token, http_token="another", test_verbs_token="another") == (0, "")


@BOTH
def test_without_the_token_it_is_said_where_to_write_it(say: Say, with_token: str, which: int, tmp_path: Path) -> None:
    key, variable = KEYS[which], VARIABLES[which]
    asks = f"coordinator: {with_token} asks for its {key}; set it in {variable}, or write `{key}=...` into "
    assert say(which, with_token) == (
        2,
        f"{asks}a file, and give that by --command-config or COORDINATOR_COMMAND_CONFIG",
    )
    assert say(which, with_token, **secret(1 - which)) == (2, f"{asks}{tmp_path / 'client.properties'}")


@BOTH
def test_a_wrong_token_is_refused(say: Say, with_token: str, which: int) -> None:
    key = KEYS[which]
    assert say(which, with_token, **{key.replace(".", "_"): "wrong"}) == (
        2,
        f"coordinator: {with_token} does not take this {key}; correct it in {VARIABLES[which]}, or in the file of "
        "--command-config",
    )


@BOTH
def test_a_token_with_a_line_break_is_not_sent(
    say: Say, with_token: str, which: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLES[which], f"{TOKEN}\r\nX: y")
    code, sentence = say(which, with_token)
    assert (code, sentence) == (
        2,
        f"coordinator: {KEYS[which]}: the token has a line break or another control character; give the token alone",
    )


@BOTH
def test_a_port_with_tls_is_asked_with_the_trust_store_of_the_file(
    say: Say, with_tls: str, which: int, authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = {**secret(which), "ssl_truststore_location": str(authority.pem)}
    assert say(which, f"https://{with_tls}", **settings) == (0, "")
    kafka = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "SCRAM-SHA-256"}  # the file is of Kafka's port
    assert say(which, f"https://{with_tls}", **settings, **kafka) == (0, "")
    monkeypatch.setenv("COORDINATOR_COMMAND_CONFIG", str(tmp_path / "client.properties"))
    assert say(which, f"https://{with_tls}") == (0, "")


@BOTH
def test_a_certificate_that_is_not_trusted(say: Say, with_tls: str, which: int, tmp_path: Path) -> None:
    code, sentence = say(which, f"https://{with_tls}", **secret(which))
    assert code == 2
    assert sentence.startswith(f"coordinator: the certificate of https://{with_tls} is not accepted (")
    assert sentence.endswith(
        "; use a host name that is in it, or write ssl.truststore.location with the authority that signed it into "
        f"{tmp_path / 'client.properties'}"
    )


@BOTH
def test_a_host_name_that_is_not_in_the_certificate(say: Say, with_tls: str, which: int, authority: Authority) -> None:
    elsewhere = f"https://127.0.0.2:{with_tls.rpartition(':')[2]}"
    with_name = authority.issue("named", ip=())
    settings = {**secret(which), "ssl_truststore_location": str(authority.pem)}
    with Coordinator() as coordinator, port(coordinator, TOKENS, keystore_location=str(with_name.pem)) as address:
        code, sentence = say(which, f"https://{address}", **settings)
        assert code == 2
        assert "is not accepted (" in sentence
        assert "use a host name that is in it" in sentence
        assert say(which, f"https://{address}", **settings, ssl_endpoint_identification_algorithm="") == (0, "")
    assert say(which, elsewhere, **settings)[0] == 2


@BOTH
def test_plain_http_to_a_port_with_tls(say: Say, with_tls: str, which: int) -> None:
    expected = f"coordinator: {with_tls} speaks TLS; write https://{with_tls} after --http"
    assert say(which, with_tls) == (2, expected)
    assert say(which, f"http://{with_tls}") == (2, expected)


@BOTH
def test_tls_to_a_port_without(say: Say, plain: str, which: int) -> None:
    assert say(which, f"https://{plain}") == (
        2,
        f"coordinator: {plain} does not speak TLS; write http://{plain} after --http",
    )


@BOTH
def test_a_port_that_wants_client_certificates(
    say: Say, with_client_certificates: str, which: int, authority: Authority, own: Issued
) -> None:
    trusting = {"ssl_truststore_location": str(authority.pem)}
    code, sentence = say(which, f"https://{with_client_certificates}", **trusting)
    assert code == 2
    assert f"https://{with_client_certificates} ended the connection (" in sentence
    assert "if it wants a certificate of its clients, write ssl.keystore.location with one" in sentence
    assert say(which, f"https://{with_client_certificates}", **trusting, ssl_keystore_location=str(own.pem))[0] == 0


@BOTH
@pytest.mark.parametrize("scheme", ["", "https://"])
def test_an_address_where_no_port_is(say: Say, coordinator: Coordinator, which: int, scheme: str) -> None:
    with port(coordinator, {}) as closed:
        pass
    code, sentence = say(which, f"{scheme}{closed}")
    assert code == 2
    assert "does not answer (Connection refused); " in sentence


@BOTH
@pytest.mark.parametrize(("address", "problem"), [("ftp://a:1", "is no address of HTTP"), ("a", "is not an address")])
def test_an_address_that_is_none(say: Say, which: int, address: str, problem: str) -> None:
    code, sentence = say(which, address)
    assert code == 2
    assert problem in sentence


@BOTH
def test_a_trust_store_that_cannot_be_used(say: Say, with_tls: str, which: int, tmp_path: Path) -> None:
    code, sentence = say(which, f"https://{with_tls}", ssl_truststore_location=str(tmp_path / "none.pem"))
    assert code == 2
    assert f"{tmp_path / 'client.properties'}: ssl.truststore.location" in sentence


def test_a_token_on_the_command_line_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faults", "--token", TOKEN, "groups"]) == 2
    said = capsys.readouterr().err
    assert "COORDINATOR_TEST_VERBS_TOKEN" in said
    assert TOKEN not in said


def test_settings_are_shown_without_the_token(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"http.token={TOKEN}\n")
    settings = http_settings("localhost:1", file, "http.token")
    assert settings.token == TOKEN
    assert TOKEN not in repr(settings)


# -- in Python -----------------------------------------------------------------------------------------------------


def test_the_python_client_takes_a_token_and_a_trust_file_or_a_context(with_tls: str, authority: Authority) -> None:
    address = f"https://{with_tls}"
    context = ssl.create_default_context(cafile=str(authority.pem))
    for tls in (authority.pem, str(authority.pem), context):
        assert post_verb(address, "groups", [], VERBS_TOKEN, tls=tls) == []


def test_the_python_client_says_which_argument_is_missing(
    with_tls: str, authority: Authority, with_client_certificates: str, plain: str, tmp_path: Path
) -> None:
    address = f"https://{with_tls}"
    with pytest.raises(VerbTokenError, match=r"asks for a token; give its test.verbs.token as `token`"):
        post_verb(address, "groups", [], tls=authority.pem)
    with pytest.raises(VerbTokenError, match=r"does not take this token; give its test.verbs.token as `token`"):
        post_verb(address, "groups", [], "wrong", tls=authority.pem)
    with pytest.raises(OSError, match=r"is not accepted .*; give the authority that signed it as `tls`"):
        post_verb(address, "groups", [], VERBS_TOKEN)
    with pytest.raises(OSError, match=f"speaks TLS; write https://{with_tls}$"):
        post_verb(with_tls, "groups", [], VERBS_TOKEN)
    with pytest.raises(OSError, match=f"does not speak TLS; write http://{plain}$"):
        post_verb(f"https://{plain}", "groups", [], VERBS_TOKEN)
    with pytest.raises(OSError, match=r"give an ssl.SSLContext with one as `tls`"):
        post_verb(f"https://{with_client_certificates}", "groups", [], tls=authority.pem)
    with pytest.raises(CoordinatorTestingError, match=r"`tls` cannot be used: ssl.truststore.location"):
        post_verb(address, "groups", [], tls=tmp_path / "none.pem")
    with pytest.raises(ConfigError, match="is no address of HTTP"):
        post_verb("ftp://a:1", "groups", [])
