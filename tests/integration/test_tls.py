"""TLS at a real daemon: certificates that change under load, handshakes that fail or never end, starts that refuse."""

from __future__ import annotations

import asyncio
import base64
import re
import shutil
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.metadata import MetadataRequest
from tests.support.certificates import Authority, Issued
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.secured import LISTENERS, Listening, Secured
from tests.support.wire import Wire, encode_frame, is_closed

pytestmark = pytest.mark.integration

REPLACED = "certificate replaced listener=SSL"
KEPT = "the last good certificate stays in use listener=SSL"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with Secured(tmp_path_factory.mktemp("secured")) as daemon:
        yield daemon


def context(daemon: Secured, own: Issued | None = None) -> ssl.SSLContext:
    found = ssl.create_default_context(cafile=str(daemon.authority.pem))
    if own is not None:
        found.load_cert_chain(own.certificate_pem, own.key_pem)
    return found


def occurrences(daemon: Daemon, text: str) -> int:
    return sum(text in line for line in daemon.log_lines())


def replace_store(daemon: Secured, content: bytes, said: str) -> None:
    """Write the key store, in one step as a careful tool does, and wait for the line about it."""
    before = occurrences(daemon, said)
    fresh = daemon.server.pem.with_suffix(".new")
    fresh.write_bytes(content)
    fresh.replace(daemon.server.pem)
    eventually(lambda: occurrences(daemon, said) > before, said)


def der(issued: Issued) -> bytes:
    return issued.certificate.public_bytes(Encoding.DER)


async def test_certificates_change_under_load_and_no_connection_is_lost(secured: Secured) -> None:
    served = [0]
    some = asyncio.Condition()
    is_over = asyncio.Event()

    async def work() -> None:
        async with await Wire.connect(secured.ports["SSL"], tls=context(secured)) as wire:
            while not is_over.is_set():
                answer = await wire.request(MetadataRequest(topics=[]), 9)
                assert [each.port for each in answer.brokers] == [secured.ports["SSL"]]
                async with some:
                    served[0] += 1
                    some.notify_all()

    def reached(number: int) -> bool:
        return served[0] >= number

    async with asyncio.TaskGroup() as group:
        for _ in range(30):
            group.create_task(work())
        for number in range(5):
            renewed = secured.authority.issue(f"renewal-{number}")
            begun = served[0]
            await asyncio.to_thread(replace_store, secured, renewed.pem.read_bytes(), REPLACED)
            async with await Wire.connect(secured.ports["SSL"], tls=context(secured)) as fresh:
                assert fresh.certificate() == der(renewed)
                await fresh.request(ApiVersionsRequest(), 0)
            async with some:
                await some.wait_for(partial(reached, begun + 100))
        is_over.set()


async def test_a_store_that_cannot_be_used_changes_nothing_and_is_named_once(secured: Secured) -> None:
    good = secured.authority.issue("good")
    await asyncio.to_thread(replace_store, secured, good.pem.read_bytes(), REPLACED)
    other = secured.authority.issue("other")
    await asyncio.to_thread(
        replace_store, secured, good.key_pem.read_bytes() + other.certificate_pem.read_bytes(), KEPT
    )
    line = next(line for line in reversed(secured.log_lines()) if KEPT in line)
    assert "the key does not fit its certificate" in line
    async with await Wire.connect(secured.ports["SSL"], tls=context(secured)) as wire:
        assert wire.certificate() == der(good)
    named = occurrences(secured, KEPT)
    await asyncio.to_thread(replace_store, secured, other.pem.read_bytes(), REPLACED)
    assert occurrences(secured, KEPT) == named


def closed_line(daemon: Daemon, reason: str) -> None:
    eventually(lambda: [line for line in daemon.log_lines() if reason in line], reason)


def test_a_client_without_tls_is_told_in_the_log(secured: Secured) -> None:
    with socket.create_connection(("127.0.0.1", secured.ports["SSL"])) as plain:
        plain.sendall(encode_frame(ApiVersionsRequest(), 0))
        assert is_closed(plain)
    closed_line(secured, "reason=it does not speak TLS; set security.protocol to SSL or SASL_SSL in the client")


def test_a_handshake_that_never_ends_is_ended_and_counts_as_a_connection(tmp_path: Path) -> None:
    with Secured(tmp_path, overrides=["ssl.handshake.timeout.ms=1000", "max.connections.per.ip=3"]) as daemon:
        port = daemon.ports["MTLS"]
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        with socket.create_connection(("127.0.0.1", port)) as refused:
            assert is_closed(refused)
        closed_line(daemon, "max.connections.per.ip=3 are open from 127.0.0.1")
        assert all(map(is_closed, silent))
        closed_line(daemon, "the TLS handshake did not end within ssl.handshake.timeout.ms")
        for each in silent:
            each.close()


def refuse(daemon: Secured, own: Issued | None, alert: str) -> None:
    """Check that a client hears by an alert why it is refused; with TLS 1.3 that comes behind its own handshake."""
    with (
        socket.create_connection(("127.0.0.1", daemon.ports["MTLS"])) as raw,
        pytest.raises(ssl.SSLError, match=alert),
        context(daemon, own).wrap_socket(raw, server_hostname="localhost") as tls,
    ):
        tls.recv(1)


async def test_a_client_certificate_is_required_and_gives_the_name(secured: Secured, tmp_path: Path) -> None:
    async with await Wire.connect(
        secured.ports["MTLS"], tls=context(secured, secured.authority.issue("carol"))
    ) as wire:
        assert (await wire.request(MetadataRequest(topics=[]), 9)).brokers[0].port == secured.ports["MTLS"]
    strangers = Authority(tmp_path).issue("mallory")
    for own, alert, reason in (
        (None, "certificate required", "it shows no certificate, and ssl.client.auth=required"),
        (strangers, "unknown ca", "its certificate is refused (unable to get local issuer certificate)"),
        (
            secured.authority.issue("old", expired=True),
            "certificate expired",
            "its certificate is refused (certificate has expired)",
        ),
    ):
        await asyncio.to_thread(refuse, secured, own, alert)
        await asyncio.to_thread(closed_line, secured, reason)


async def test_a_stop_ends_connections_with_tls(tmp_path: Path) -> None:
    with Secured(tmp_path) as daemon:
        async with await Wire.connect(daemon.ports["SSL"], tls=context(daemon)) as wire:
            await wire.request(ApiVersionsRequest(), 0)
            assert await asyncio.to_thread(daemon.terminate) == 0
            assert await wire.ends()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("ssl.keystore.location=missing.pem", "ssl.keystore.location missing.pem: the file cannot be read"),
        ("ssl.keystore.location={other}", "the key does not fit its certificate"),
        ("ssl.keystore.location={jks}", "only Java reads a JKS store; convert it by keytool"),
        ("ssl.enabled.protocols=TLSv1.1", "ssl.enabled.protocols 'TLSv1.1' must name TLSv1.2, TLSv1.3 or both"),
        ("ssl.principal.mapping.rules=RULE:(/x/", "ssl.principal.mapping.rules: "),
        ("ssl.client.auth=required", "ssl.truststore.location is not set, but ssl.client.auth=required needs"),
        ("sasl.enabled.mechanisms=OAUTHBEARER", "sasl.oauthbearer.jwks.endpoint.url: http://127.0.0.1:1/ cannot be"),
        ("plain.sasl.jaas.config=hello", "plain.sasl.jaas.config: the text is not one JAAS entry"),
    ],
)
def test_a_start_with_a_bad_setting_ends_with_one_sentence(tmp_path: Path, line: str, sentence: str) -> None:
    authority = Authority(tmp_path)
    one, two = authority.issue("one"), authority.issue("two")
    (tmp_path / "other.pem").write_bytes(one.key_pem.read_bytes() + two.certificate_pem.read_bytes())
    (tmp_path / "store.jks").write_bytes(b"\xfe\xed\xfe\xed" + bytes(20))
    name, _, value = line.format(other=tmp_path / "other.pem", jks=tmp_path / "store.jks").partition("=")
    settings = {
        "ssl.keystore.location": str(one.pem),
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.oauthbearer.jwks.endpoint.url": "http://127.0.0.1:1/",
        "sasl.oauthbearer.expected.issuer": "i",
        "sasl.oauthbearer.expected.audience": "a",
        name: value,
    }
    daemon = Listening(tmp_path, {"OUT": "SASL_SSL"}, settings)
    process = daemon.spawn()
    assert process.wait(30) == 2
    *_, said = daemon.log_text().splitlines()  # before it, how soon the certificate expires
    assert sentence in said
    assert "; " in said


def test_a_listener_that_others_can_read_is_named_at_the_start(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, arguments=["--listen", "0.0.0.0:0", "--advertised", "127.0.0.1:1"])
    with daemon:
        assert occurrences(daemon, "the listener PLAINTEXT://0.0.0.0:") == 1
    with Secured(tmp_path / "loopback") as quiet:
        assert occurrences(quiet, "has no TLS and is reachable") == 0


def test_the_http_port_has_tls_and_asks_for_its_token(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    own = authority.issue("http")
    shutil.copy(own.pem, tmp_path / "port.pem")
    settings = {
        "listener.name.http.ssl.keystore.location": str(tmp_path / "port.pem"),
        "ssl.keystore.location": str(own.pem),
        "ssl.store.check.ms": "100",
        "http.token": "s3cret",
    }
    listeners = {"OUT": "SSL"}  # the console cannot ask there as a stranger
    with Listening(tmp_path, listeners, settings, http="127.0.0.1:0", topics=("orders:2",)) as daemon:
        found = re.search(r"http listen=(\S+)", daemon.log_text())
        assert found is not None
        base = f"https://{found[1]}"
        trusting = ssl.create_default_context(cafile=str(authority.pem))

        def get(path: str, *authorization: str) -> tuple[int, str]:
            headers = dict(zip(("Authorization",), authorization, strict=False))
            try:
                with urllib.request.urlopen(
                    urllib.request.Request(base + path, headers=headers), context=trusting, timeout=10
                ) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode()

        assert get("/readyz") == (200, "ready\n")
        assert get("/metrics")[0] == 401
        assert get("/api/cluster")[0] == 401
        assert get("/metrics", "Bearer wrong")[0] == 401
        assert get("/metrics", "Bearer s3cret")[0] == 200
        basic = base64.b64encode(b"anna:s3cret").decode()
        assert '"problem":""' in get("/api/cluster", f"Basic {basic}")[1]
        renewed = authority.issue("renewed")
        (tmp_path / "port.pem").write_bytes(renewed.pem.read_bytes())
        eventually(lambda: "certificate replaced listener=HTTP" in daemon.log_text(), "the certificate is replaced")
        host, _, port = found[1].rpartition(":")
        with socket.create_connection((host, int(port))) as raw, trusting.wrap_socket(raw, server_hostname=host) as tls:
            assert tls.getpeercert(binary_form=True) == der(renewed)


def test_every_listener_names_itself(secured: Secured) -> None:
    assert list(secured.ports) == list(LISTENERS)
