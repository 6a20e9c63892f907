"""`--command-config`: commands against listeners with TLS and SASL, and what is wrong with the settings."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli.completion import candidates
from coordinator.cli.main import main, parser_of, verbs_at
from coordinator.security.sasl_server import SaslError
from coordinator.security.scram import SCRAM_SHA_256, ScramServer, credential_of
from protocol.error_codes import ErrorCode
from protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.support.certificates import Authority
from tests.support.scripted_broker import ScriptedBroker

LOGIN = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\nsasl.username=alice\nsasl.password=secret\n"
TOKEN = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.file={file}\n"
TLS = "security.protocol=SSL\n"
CREDENTIAL = credential_of(SCRAM_SHA_256, "secret", b"salt", 4096)


class Broker(ScriptedBroker):
    """A broker with one topic. It has TLS with a context, and tells the topic after a login if it has SASL."""

    def __init__(self, context: ssl.SSLContext | None = None, *, has_sasl: bool = False) -> None:
        super().__init__(
            {
                MetadataRequest: self._metadata,
                SaslHandshakeRequest: self._handshake,
                SaslAuthenticateRequest: self._authenticate,
            }
        )
        self._context = context
        self._has_sasl = has_sasl
        self._server: ScramServer | None = None  # of the last login

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError):
            wrapped = self._context.wrap_socket(connection, server_side=True) if self._context else connection
            super()._serve(wrapped)

    def _metadata(self, request: MetadataRequest, version: int) -> MetadataResponse:
        if self._has_sasl and not (self._server and self._server.is_complete):
            raise ConnectionResetError
        return MetadataResponse(topics=[MetadataResponseTopic(name="orders")])

    def _handshake(self, request: SaslHandshakeRequest, version: int) -> SaslHandshakeResponse:
        assert version == 1
        if not self._has_sasl:
            return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
        if request.mechanism != SCRAM_SHA_256.name:
            code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            return SaslHandshakeResponse(error_code=code, mechanisms=[SCRAM_SHA_256.name])
        self._server = ScramServer(SCRAM_SHA_256, {"alice": CREDENTIAL}.get, "nonce")
        return SaslHandshakeResponse()

    def _authenticate(self, request: SaslAuthenticateRequest, version: int) -> SaslAuthenticateResponse:
        assert self._server is not None
        try:
            return SaslAuthenticateResponse(auth_bytes=self._server.evaluate(request.auth_bytes))
        except SaslError:
            code = ErrorCode.SASL_AUTHENTICATION_FAILED
            return SaslAuthenticateResponse(error_code=code, error_message="invalid credentials")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def context(authority: Authority) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("server").pem)
    return context


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "client.properties"


def listing(broker: ScriptedBroker, config: Path | None) -> int:
    return main(["topics", "list", "-b", broker.address, *(["--command-config", str(config)] if config else [])])


def test_a_login_goes_before_the_first_request(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text(LOGIN)
    with Broker(has_sasl=True) as broker:
        assert listing(broker, config) == 0
    assert "orders" in capsys.readouterr().out
    assert [type(request) for request, _ in broker.seen] == [
        SaslHandshakeRequest,
        SaslAuthenticateRequest,
        SaslAuthenticateRequest,
        MetadataRequest,
    ]


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_a_connection_is_encrypted(
    protocol: str, config: Path, authority: Authority, context: ssl.SSLContext, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(f"{LOGIN}security.protocol={protocol}\nssl.truststore.location={authority.pem}\n")
    with Broker(context, has_sasl=protocol == "SASL_SSL") as broker:
        assert listing(broker, config) == 0
    assert "orders" in capsys.readouterr().out


def test_a_client_shows_its_certificate(
    config: Path, authority: Authority, context: ssl.SSLContext, capsys: pytest.CaptureFixture[str]
) -> None:
    context.load_verify_locations(authority.pem)
    context.verify_mode = ssl.CERT_REQUIRED
    without = f"{TLS}ssl.truststore.location={authority.pem}\n"
    with Broker(context) as broker:
        config.write_text(without)
        assert listing(broker, config) == 2
        assert f"{broker.address} ended the connection" in capsys.readouterr().err
        config.write_text(f"{without}ssl.keystore.location={authority.issue('client').pem}\n")
        assert listing(broker, config) == 0


@pytest.mark.parametrize(
    ("text", "has_tls", "has_sasl", "sentence"),
    [
        pytest.param(
            LOGIN.replace("secret", "wrong"),
            False,
            True,
            "cannot log in to {address} by {config}: it refuses the user 'alice' (invalid credentials); correct the "
            "name or the password",
            id="a wrong password",
        ),
        pytest.param(
            LOGIN.replace("256", "512"),
            False,
            True,
            "cannot log in to {address} by {config}: the mechanism SCRAM-SHA-512 is not enabled there; set "
            "sasl.mechanism to one of SCRAM-SHA-256",
            id="another mechanism",
        ),
        pytest.param(
            LOGIN,
            False,
            False,
            "cannot log in to {address} by {config}: its listener has no SASL; remove SASL_ from security.protocol",
            id="a listener without SASL",
        ),
        pytest.param(
            None,
            False,
            True,
            "{address} ended the connection (closed without an answer); see its log, and if it wants TLS, a "
            "certificate or a login (SASL), give the settings in a file by --command-config",
            id="no login",
        ),
        pytest.param(
            TLS,
            True,
            False,
            "the certificate of {address} is not accepted (unable to get local issuer certificate); set "
            "ssl.truststore.location in {config} to the authority that signed it, or use a host name that is in it",
            id="an unknown authority",
        ),
        pytest.param(
            None,
            True,
            False,
            "{address} does not answer as a Kafka broker: it speaks TLS; set security.protocol to SSL or SASL_SSL in a "
            "file, and give that by --command-config",
            id="no TLS",
        ),
        pytest.param(
            "security.protocol=SSL\nssl.enabled.protocols=TLSv1.1",
            True,
            False,
            "{config}: ssl.enabled.protocols 'TLSv1.1' must name TLSv1.2, TLSv1.3 or both; others are not secure",
            id="a setting of TLS",
        ),
        pytest.param(
            TOKEN,
            False,
            True,
            "{config}: the token in {file} cannot be read (No such file or directory); correct the path or its "
            "permissions",
            id="no token",
        ),
        pytest.param("a=\\u12", False, False, "{config}: line 1: \\u needs four", id="not properties"),
        pytest.param("sasl.jaas.config=x", False, False, "{config}: sasl.jaas.config is not one JAAS entry", id="JAAS"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    text: str | None,
    has_tls: bool,
    has_sasl: bool,
    sentence: str,
    config: Path,
    context: ssl.SSLContext,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = config.with_name("token")
    if text is not None:
        config.write_text(text.format(file=file))
    with Broker(context if has_tls else None, has_sasl=has_sasl) as broker:
        assert listing(broker, config if text is not None else None) == 2
        expected = sentence.format(address=broker.address, config=config, file=file)
    assert capsys.readouterr().err.startswith(f"coordinator: {expected}")


def test_a_host_name_that_is_not_in_the_certificate_is_refused(
    config: Path, authority: Authority, context: ssl.SSLContext, capsys: pytest.CaptureFixture[str]
) -> None:
    context.load_cert_chain(authority.issue("other", dns=("other.example",), ip=()).pem)
    text = f"{TLS}ssl.truststore.location={authority.pem}\n"
    with Broker(context) as broker:
        config.write_text(text)
        assert listing(broker, config) == 2
        assert "is not accepted (IP address mismatch" in capsys.readouterr().err
        config.write_text(f"{text}ssl.endpoint.identification.algorithm=\n")
        assert listing(broker, config) == 0


def test_tls_to_a_port_without_it_is_one_sentence(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text(TLS)
    with Broker() as broker:
        broker._serve = lambda connection: connection.close()  # type: ignore[method-assign] # as on such a size
        assert listing(broker, config) == 2
        said = capsys.readouterr().err
        assert f"{broker.address} does not complete a TLS handshake (" in said
    assert f"in {config}, set security.protocol to PLAINTEXT or SASL_PLAINTEXT if the listener has no TLS" in said


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, "No such file or directory"),
        (lambda path: path.write_bytes(b"\xff"), "it is not text"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(
    make: Callable[[Path], Any], reason: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(config)
    assert main(["groups", "list", "--command-config", str(config)]) == 2
    assert capsys.readouterr().err == (
        f"coordinator: --command-config {config} cannot be read ({reason}); give the path of a properties file\n"
    )


def commands(*path: str) -> Iterator[tuple[str, ...]]:
    verbs = verbs_at(path)
    if verbs is None:
        yield path
    else:
        for name in verbs:
            yield from commands(*path, name)


def test_each_command_that_names_a_server_takes_the_file() -> None:
    roots = ("groups", "topics", "users", "cluster", "history", "restore", "undo", "observe")
    options = [[*parser_of(*path).options()] for root in roots for path in commands(root)]
    counted = [(each.count("--bootstrap-server"), each.count("--command-config")) for each in options]
    assert [servers for servers, _ in counted] == [files for _, files in counted]
    assert sum(servers for servers, _ in counted) > 15


def test_the_file_comes_from_the_environment_unless_it_is_given(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(LOGIN)
    monkeypatch.setenv("COORDINATOR_COMMAND_CONFIG", str(config))
    with Broker(has_sasl=True) as broker:
        assert listing(broker, None) == 0
        assert candidates(["topics", "describe", "-b", broker.address, "o"]) == ["orders"]
        assert listing(broker, config.with_name("other")) == 2
    monkeypatch.setenv("COORDINATOR_COMMAND_CONFIG", "")
    assert parser_of("topics", "list").parse_intermixed_args([]).command_config is None
