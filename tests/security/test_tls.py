"""TLS contexts of listeners and of clients, by real handshakes between two ends in memory."""

from __future__ import annotations

import contextlib
import ssl
import sys
import warnings
from pathlib import Path

import pytest

from coordinator.security.key_store import read_material
from coordinator.security.tls import client_context, server_context
from coordinator.security.tls_settings import TlsError, TlsSettings
from tests.support.certificates import Authority, Issued


class Ends:
    """An authority, a node and a client, and settings of the two that have them."""

    def __init__(self, directory: Path) -> None:
        self.authority = Authority(directory)
        self.node = self.authority.issue("node")
        self.client = self.authority.issue("client", dns=(), ip=())
        self.stranger = Authority(directory, "strange").issue("stranger")
        trust = str(self.authority.pem)
        self.server_settings = TlsSettings(keystore_location=str(self.node.pem), truststore_location=trust)
        self.client_settings = TlsSettings(truststore_location=trust)

    def server(self, **changes: object) -> ssl.SSLContext:
        settings = self.server_settings._replace(**changes)  # type: ignore[arg-type]
        return server_context(read_material(settings), settings)

    def client_of(self, issued: Issued | None = None, algorithm: str = "https", **changes: object) -> ssl.SSLContext:
        location = str(issued.pem) if issued else ""
        settings = self.client_settings._replace(keystore_location=location, **changes)  # type: ignore[arg-type]
        return client_context(settings, algorithm)


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Ends:
    return Ends(tmp_path_factory.mktemp("ends"))


def connect(
    server: ssl.SSLContext, client: ssl.SSLContext, host: str = "localhost", session: ssl.SSLSession | None = None
) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """Return the client and the server after a handshake, or raise the error of the end that ended it."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    one = client.wrap_bio(to_client, to_server, server_hostname=host, session=session)
    other = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(3):  # flights of a handshake
        for end in (one, other):
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
    one.do_handshake()
    other.do_handshake()
    return one, other


def reason(server: ssl.SSLContext, client: ssl.SSLContext, host: str = "localhost") -> str | None:
    with pytest.raises(ssl.SSLError) as caught:
        connect(server, client, host)
    return caught.value.reason


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize("end", ["server", "client"])
def test_each_end_can_ask_for_one_protocol(ends: Ends, version: str, end: str) -> None:
    server = ends.server(**({"enabled_protocols": version} if end == "server" else {}))
    client = ends.client_of(**({"enabled_protocols": f" {version} ,"} if end == "client" else {}))
    one, other = connect(server, client)
    assert one.version() == other.version() == version
    assert one.compression() is None
    one.write(b"question")
    assert other.read() == b"question"


def test_tls_1_1_is_refused_by_a_listener(ends: Ends) -> None:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        client.minimum_version = client.maximum_version = ssl.TLSVersion.TLSv1_1
    assert reason(ends.server(), client) == "UNSUPPORTED_PROTOCOL"


@pytest.mark.parametrize("text", ["TLSv1.1", "TLSv1.2,SSLv3", "tlsv1.3", "", " , "])
def test_another_protocol_cannot_be_set(ends: Ends, text: str) -> None:
    with pytest.raises(TlsError) as caught:
        ends.server(enabled_protocols=text)
    assert str(caught.value) == (
        f"ssl.enabled.protocols {text!r} must name TLSv1.2, TLSv1.3 or both; others are not secure"
    )


@pytest.mark.parametrize(
    ("suites", "chosen"),
    [
        ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", "ECDHE-ECDSA-AES256-SHA384"),
        ("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"),
        (
            "TLS_RSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,"
            "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
            "ECDHE-ECDSA-AES256-GCM-SHA384",
        ),
        (
            "TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256,TLS_AES_128_GCM_SHA256",
            "TLS_AES_256_GCM_SHA384",
        ),
    ],
)
def test_the_java_names_of_cipher_suites_are_understood(ends: Ends, suites: str, chosen: str) -> None:
    one, _ = connect(ends.server(cipher_suites=suites), ends.client_of(cipher_suites=suites))
    assert one.cipher()[0] == chosen  # type: ignore[index]


def test_a_protocol_without_a_suite_is_not_used(ends: Ends) -> None:
    suites = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    assert reason(ends.server(cipher_suites=suites), ends.client_of(enabled_protocols="TLSv1.3")) is not None
    suites = "TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256,TLS_AES_128_GCM_SHA256"
    assert reason(ends.server(cipher_suites=suites), ends.client_of(enabled_protocols="TLSv1.2")) is not None


UNKNOWN = "which is unknown or not secure; write names like TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"


@pytest.mark.parametrize(
    ("suites", "sentence"),
    [
        (suite, f"ssl.cipher.suites names {suite!r}, {UNKNOWN}")
        for suite in (
            "ALL",
            "@SECLEVEL=0",
            "TLS_RSA_WITH_NULL_SHA256",
            "TLS_ECDH_anon_WITH_AES_128_CBC_SHA",
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA384",
            "tls_aes_256_gcm_sha384",
        )
    ]
    + [
        (
            "TLS_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
            "ssl.cipher.suites has only a part of TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384, "
            "TLS_CHACHA20_POLY1305_SHA256; name all of them or none, because none can be left out here",
        ),
    ],
)
def test_cipher_suites_that_cannot_be_set_are_refused(ends: Ends, suites: str, sentence: str) -> None:
    with pytest.raises(TlsError) as caught:
        ends.server(cipher_suites=suites)
    assert str(caught.value) == sentence


def test_cipher_suites_must_be_of_an_enabled_protocol(ends: Ends) -> None:
    with pytest.raises(TlsError) as caught:
        ends.server(cipher_suites="TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", enabled_protocols="TLSv1.3")
    assert str(caught.value) == "ssl.cipher.suites has no suite of a protocol in ssl.enabled.protocols; add one"


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize(
    ("client_auth", "client", "outcome"),
    [
        ("none", None, None),
        ("none", "client", None),
        ("requested", None, None),
        ("requested", "client", "client"),
        ("requested", "stranger", "CERTIFICATE_VERIFY_FAILED"),
        ("required", None, "PEER_DID_NOT_RETURN_A_CERTIFICATE"),
        ("required", "client", "client"),
        ("required", "stranger", "CERTIFICATE_VERIFY_FAILED"),
    ],
)
def test_client_certificates_are_asked_for_as_set(
    ends: Ends, client_auth: str, client: str | None, outcome: str | None, version: str
) -> None:
    server = ends.server(client_auth=client_auth, enabled_protocols=version)
    context = ends.client_of(getattr(ends, client) if client else None)
    if outcome and outcome.isupper():
        assert reason(server, context) == outcome
        return
    peer = connect(server, context)[1].getpeercert()
    assert (peer["subject"][-1][0][1] if peer else None) == outcome  # type: ignore[index]


@pytest.mark.parametrize("client_auth", ["requested", "required"])
def test_client_certificates_need_a_trust_store(ends: Ends, client_auth: str) -> None:
    with pytest.raises(TlsError) as caught:
        ends.server(client_auth=client_auth, truststore_location="")
    assert str(caught.value) == (
        f"ssl.truststore.location is not set, but ssl.client.auth={client_auth} needs the authorities of clients; set "
        "it"
    )


def test_an_expired_client_certificate_is_refused(ends: Ends) -> None:
    client = ends.client_of(ends.authority.issue("late", expired=True))
    assert reason(ends.server(client_auth="required"), client) == "CERTIFICATE_VERIFY_FAILED"


@pytest.mark.parametrize(
    ("host", "algorithm", "is_accepted"),
    [
        ("localhost", "https", True),
        ("127.0.0.1", "HTTPS", True),
        ("elsewhere", "https", False),
        ("127.0.0.2", "https", False),
        ("elsewhere", "", True),
    ],
)
def test_the_host_name_of_a_server_is_checked(ends: Ends, host: str, algorithm: str, is_accepted: bool) -> None:
    client = ends.client_of(algorithm=algorithm)
    if is_accepted:
        connect(ends.server(), client, host)
    else:
        assert reason(ends.server(), client, host) == "CERTIFICATE_VERIFY_FAILED"


@pytest.mark.parametrize("algorithm", ["https", ""])
def test_a_server_of_another_authority_is_not_trusted(ends: Ends, algorithm: str) -> None:
    server = ends.server(keystore_location=str(ends.stranger.pem))
    assert reason(server, ends.client_of(algorithm=algorithm)) == "CERTIFICATE_VERIFY_FAILED"


def test_an_unknown_host_name_check_is_refused(ends: Ends) -> None:
    with pytest.raises(TlsError) as caught:
        ends.client_of(algorithm="ldaps")
    assert str(caught.value) == (
        "ssl.endpoint.identification.algorithm 'ldaps' is unknown; write https, or nothing for no check of the host "
        "name"
    )


def test_a_client_without_a_trust_store_trusts_the_system(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reason(ends.server(), ends.client_of(truststore_location="")) == "CERTIFICATE_VERIFY_FAILED"
    monkeypatch.setenv("SSL_CERT_FILE", str(ends.authority.pem))
    connect(ends.server(), ends.client_of(truststore_location=""))


def test_an_authority_below_the_root_can_be_trusted_alone(tmp_path: Path) -> None:
    root = Authority(tmp_path, "root")
    below = Authority(tmp_path, "below", root)
    issued = below.issue("node")
    settings = TlsSettings(keystore_location=str(issued.pem), truststore_location=str(below.pem))
    connect(server_context(read_material(settings), settings), client_context(settings))
    connect(
        server_context(read_material(settings), settings),
        client_context(settings._replace(truststore_location=str(root.pem))),
    )


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_session_is_not_resumed_by_a_new_context(ends: Ends, version: str) -> None:
    client = ends.client_of(ends.client, enabled_protocols=version)
    one, _ = connect(ends.server(client_auth="required"), client)
    assert one.session is not None
    assert not one.session.has_ticket
    again, _ = connect(ends.server(client_auth="required"), client, session=one.session)
    assert not again.session_reused


def test_renegotiation_is_off(ends: Ends) -> None:
    assert ends.server().options & ssl.OP_NO_RENEGOTIATION
    assert ends.server().num_tickets == 0


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_loading_a_key_leaves_no_file(
    ends: Ends, platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = sorted(Path("/dev/fd").iterdir())
    connect(ends.server(), ends.client_of())
    assert sorted(Path("/dev/fd").iterdir()) == before
    assert not list(tmp_path.iterdir())
