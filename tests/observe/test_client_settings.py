"""The properties file of the client: Kafka's words, librdkafka's, and what is wrong with it."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from coordinator.observe.client_settings import ClientSettings, TokenSource
from coordinator.observe.errors import ObserveError


def parsed(text: str) -> ClientSettings:
    return ClientSettings.parse(text, "client.properties")


def test_without_a_file_it_is_plaintext() -> None:
    settings = ClientSettings.read(None)
    assert (settings.security_protocol, settings.uses_tls, settings.uses_sasl) == ("PLAINTEXT", False, False)


JAAS = (
    "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
    "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
    '  username="al\\"ice" password="a=b;c";\n'
)


@pytest.mark.parametrize(
    ("text", "mechanism", "username", "password"),
    [
        (JAAS.replace('\\"', ""), "SCRAM-SHA-512", "alice", "a=b;c"),
        (
            "security.protocol=sasl_plaintext\nsasl.mechanisms=PLAIN\nsasl.username=bob\nsasl.password=p w\n",
            "PLAIN",
            "bob",
            "p w",
        ),
    ],
)
def test_user_and_password_come_from_jaas_or_from_keys(text: str, mechanism: str, username: str, password: str) -> None:
    settings = parsed(text)
    assert (settings.sasl_mechanism, settings.username, settings.password) == (mechanism, username, password)
    assert password not in repr(settings)


def test_a_token_source_has_client_credentials_or_a_file() -> None:
    common = "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n"
    entry = 'sasl.jaas.config=x.OAuthBearerLoginModule required clientId="me" clientSecret="s" scope="kafka";\n'
    settings = parsed(f"{common}{entry}sasl.oauthbearer.token.endpoint.url=https://id/token\n")
    assert settings.token_source == TokenSource("https://id/token", "me", "s", "kafka")
    settings = parsed(f"{common}sasl.oauthbearer.token.endpoint.url=file:///run/token\n")
    assert settings.token_source == TokenSource("file:///run/token")


def test_tls_checks_the_host_name_unless_that_is_turned_off() -> None:
    settings = parsed("security.protocol=SSL")
    assert settings.ssl_context is not None
    assert settings.ssl_context.check_hostname
    settings = parsed("security.protocol=SSL\nssl.endpoint.identification.algorithm=")
    assert settings.ssl_context is not None
    assert (settings.ssl_context.check_hostname, settings.ssl_context.verify_mode) == (False, ssl.CERT_REQUIRED)


def test_keys_of_other_clients_are_ignored_and_listed() -> None:
    assert parsed("group.id=g\nclient.id=me\nmax.poll.records=5\n").ignored == ("group.id", "max.poll.records")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("security.protocol=TLS", "security.protocol=TLS is not one of"),
        ("security.protocol=SASL_SSL", "sasl.mechanism=\\(none\\) is not supported"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=GSSAPI", "GSSAPI is not supported"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=a", "no user name and password"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url"),
        ("security.protocol=SSL\nssl.truststore.location=/x.jks", "must be a PEM file"),
        ("security.protocol=SSL\nssl.truststore.type=JKS", "must be a PEM file"),
        ("security.protocol=SSL\nssl.ca.location=/not/there.pem", "cannot be loaded \\(No such file"),
        ("request.timeout.ms=soon", "request.timeout.ms=soon"),
    ],
)
def test_a_mistake_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ObserveError, match=sentence):
        parsed(text)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ObserveError, match=r"--command-config .* cannot be read \(No such file"):
        ClientSettings.read(tmp_path / "missing.properties")
