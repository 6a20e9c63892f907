"""The security settings of a client: Kafka's names, those of librdkafka, and what is wrong with them."""

from __future__ import annotations

import pytest

from coordinator.config.properties import parse_properties
from coordinator.security.client_settings import ClientSecurity, ClientSettingsError, client_security
from coordinator.security.tls_settings import TlsSettings

JAAS = 'org.apache.kafka.common.security.{} required username="al\\\\"ice" password="a=b;c";'


def parsed(text: str) -> ClientSecurity:
    return client_security({entry.key: entry.value for entry in parse_properties(text)})


def test_without_settings_it_is_plaintext() -> None:
    assert parsed("") == ClientSecurity("PLAINTEXT")
    assert (parsed("").has_tls, parsed("").has_sasl) == (False, False)


@pytest.mark.parametrize(
    ("protocol", "has_tls", "has_sasl"),
    [("SSL", True, False), ("sasl_plaintext", False, True), ("SASL_SSL", True, True)],
)
def test_the_protocol_has_tls_or_sasl(protocol: str, has_tls: bool, has_sasl: bool) -> None:
    found = parsed(f"security.protocol={protocol}\nsasl.mechanism=PLAIN\nsasl.username=a\nsasl.password=b")
    assert (found.has_tls, found.has_sasl, found.username) == (has_tls, has_sasl, "a" if has_sasl else "")


@pytest.mark.parametrize(
    ("text", "mechanism", "username", "password"),
    [
        ("sasl.mechanism=PLAIN\nsasl.jaas.config=" + JAAS.format("plain.PlainLoginModule"), "PLAIN", 'al"ice', "a=b;c"),
        (
            "sasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config=\\\n   " + JAAS.format("scram.ScramLoginModule"),
            "SCRAM-SHA-512",
            'al"ice',
            "a=b;c",
        ),
        (
            "sasl.mechanism=scram-sha-256\nsasl.jaas.config=a.ScramLoginModule REQUIRED password=word username='a';",
            "SCRAM-SHA-256",
            "a",
            "word",
        ),
        ("sasl.mechanisms=PLAIN\nsasl.username=bob\nsasl.password=p w  \n", "PLAIN", "bob", "p w"),
    ],
)
def test_user_and_password_come_from_jaas_or_from_keys(text: str, mechanism: str, username: str, password: str) -> None:
    found = parsed(f"security.protocol=SASL_PLAINTEXT\n{text}")
    assert found == ClientSecurity("SASL_PLAINTEXT", mechanism=mechanism, username=username, password=password)
    assert password not in repr(found)


@pytest.mark.parametrize(
    "text",
    [
        "sasl.oauthbearer.token.file=/run/my token",
        "sasl.oauthbearer.token.endpoint.url=file:///run/my%20token\n"
        "sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
    ],
)
def test_a_token_comes_from_a_file(text: str) -> None:
    found = parsed(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n{text}")
    assert (found.token_file, found.username, found.password) == ("/run/my token", "", "")


def test_every_setting_of_tls_is_taken_by_its_name_in_kafka() -> None:
    expected = {
        field: f"the {field}" for field in TlsSettings._fields if field not in ("client_auth", "truststore_location")
    }
    lines = [f"ssl.{field.replace('_', '.')}={value}" for field, value in expected.items()]
    found = parsed("\n".join([*lines, "ssl.ca.location=ca.pem", "security.protocol=SSL"]))
    assert found.tls._asdict() == {**expected, "client_auth": "none", "truststore_location": "ca.pem"}
    assert "the key_password" not in repr(found)


@pytest.mark.parametrize(
    ("line", "algorithm"),
    [("", "https"), ("=HTTPS", "HTTPS"), ("=", ""), ("=none", "")],
)
def test_the_host_name_is_checked_unless_that_is_turned_off(line: str, algorithm: str) -> None:
    line = line and f"ssl.endpoint.identification.algorithm{line}"
    assert parsed(f"security.protocol=SSL\n{line}").endpoint_identification_algorithm == algorithm


def test_settings_of_other_protocols_and_of_consumers_are_ignored() -> None:
    text = "group.id=g\nssl.truststore.location=/x.jks\nssl.truststore.type=?\nsasl.mechanism=GSSAPI\nfetch.max.bytes=1"
    assert parsed(text) == ClientSecurity()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("security.protocol=TLS", "security.protocol=TLS is not one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL; "),
        ("security.protocol=SASL_SSL", "sasl.mechanism=(none) is not supported here; use one of PLAIN, SCRAM-SHA-256"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=GSSAPI", "sasl.mechanism=GSSAPI is not supported here"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=a", "there is no user name and password; "),
        (
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=secret",
            "sasl.jaas.config is not one JAAS entry with quoted values; write org.apache.kafka.common.security.scram.",
        ),
        *(
            (
                f"security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n{line}",
                "OAUTHBEARER (OAuthBearerLoginModule) gets no token from an issuer here; write a token to a file, and "
                "set sasl.oauthbearer.token.file to its path",
            )
            for line in (
                'sasl.jaas.config=x.OAuthBearerLoginModule required clientId="me" clientSecret="secret";',
                "sasl.oauthbearer.token.endpoint.url=https://issuer/token",
            )
        ),
    ],
)
def test_a_mistake_is_one_sentence_without_a_password(text: str, sentence: str) -> None:
    with pytest.raises(ClientSettingsError) as raised:
        parsed(text)
    assert str(raised.value).startswith(sentence)
    assert "secret" not in str(raised.value)
