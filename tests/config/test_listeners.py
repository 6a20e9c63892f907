"""Listeners with names: what the settings mean, settings of one listener, and contradictions."""

from __future__ import annotations

import pytest

from coordinator.config.listeners import Endpoint
from coordinator.config.sources import load
from coordinator.config.values import Address, ConfigError

MAPPED = "listener.security.protocol.map=IN:PLAINTEXT,OUT:SASL_SSL\n"
OUT = "listeners=IN://:9092,OUT://h:9093\n" + MAPPED + "ssl.keystore.location=k\nsasl.enabled.mechanisms=plain\n"
TOKENS = (
    "listeners=SASL_PLAINTEXT://:1\nsasl.enabled.mechanisms=OAUTHBEARER\n"
    "sasl.oauthbearer.jwks.endpoint.url=http://h/\nsasl.oauthbearer.expected.issuer=i\n"
)


def test_each_listener_has_a_name_a_protocol_and_an_address() -> None:
    config = load(OUT + "advertised.listeners=OUT://public:19093\n")
    assert config.client_listeners == (
        Endpoint("IN", "PLAINTEXT", Address("0.0.0.0", 9092)),
        Endpoint("OUT", "SASL_SSL", Address("h", 9093)),
    )
    assert [(each.has_tls, each.has_sasl) for each in config.client_listeners] == [(False, False), (True, True)]
    assert config.advertised_addresses == {"OUT": Address("public", 19093)}
    assert config.advertised_address is None
    assert config.listen_address == Address("0.0.0.0", 9092)


def test_a_listener_without_a_name_is_plaintext_and_controllers_are_ignored() -> None:
    config = load("listeners=h:1,CONTROLLER://h:2")
    assert config.client_listeners == (Endpoint("PLAINTEXT", "PLAINTEXT", Address("h", 1)),)


def test_a_setting_of_one_listener_takes_precedence_there() -> None:
    warnings: list[str] = []
    config = load(
        OUT + "listener.name.out.ssl.client.auth=required\nlistener.name.out.plain.sasl.jaas.config=text\n"
        "listener.name.out.plain.connections.max.reauth.ms=7\nlistener.name.out.scram-sha-256.sasl.jaas.config=x\n",
        environ={"COORDINATOR_LISTENER_NAME_OUT_SSL_KEY_PASSWORD": "secret"},
        warn=warnings.append,
    )
    out = config.of_listener("OUT")
    assert (out.ssl_client_auth, config.ssl_client_auth) == ("required", "none")
    assert (out.plain_sasl_jaas_config, out.connections_max_reauth_ms) == ("text", 7)
    assert out.ssl_key_password == "secret"
    assert config.of_listener("IN") is config
    assert "secret" not in repr(config)
    assert out.sasl_jaas_config == "x"
    assert warnings == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("listeners=", "listeners: '' names no listener; write host:port"),
        ("listeners=A://h:1", "the listener A has no security protocol; add it to listener.security.protocol.map"),
        ("listeners=h:1,SSL://h:1", "listeners: 'SSL://h:1' repeats the address of another listener"),
        ("listeners=SSL://h:1", "the listener SSL has TLS and no key; set ssl.keystore.location to a PEM file"),
        ("listeners=SASL_PLAINTEXT://h:1", "the listener SASL_PLAINTEXT has SASL and no mechanism; set sasl.enabled"),
        ("sasl.enabled.mechanisms=GSSAPI", "sasl.enabled.mechanisms: 'GSSAPI' is not served; choose from PLAIN, SCRAM"),
        ("listener.security.protocol.map=A:TLS", "listener.security.protocol.map: 'A:TLS' must be a listener"),
        ("advertised.listeners=SSL://h:1", "advertised.listeners has SSL, which listeners does not have"),
        ("listener.name.ssl.ssl.client.auth=none", "a setting begins with listener.name.ssl, and listeners has no SSL"),
        ("authorizer.class.name=Mine", "authorizer.class.name: 'Mine' is not served; write `acl` or the name of"),
        (OUT + "workers=2", "2 workers take consecutive ports, and both IN and OUT would need port 9093"),
        (
            OUT + "workers=3\nworker.ports=1,2",
            "worker.ports has 2 ports for 3 workers on the listener IN; give one for",
        ),
        (TOKENS, "the listener SASL_PLAINTEXT would take tokens of any audience; set sasl.oauthbearer.expected.aud"),
        ("listeners=HTTP://h:1\nlistener.security.protocol.map=HTTP:PLAINTEXT", "a listener is named HTTP, which is"),
    ],
)
def test_a_contradiction_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(text)
    assert str(raised.value).startswith(sentence)
    assert "; " in str(raised.value) or "as in" in str(raised.value)


@pytest.mark.parametrize("name", ["ssl.key.password", "listener.name.plaintext.ssl.key.password", "http.admin.token"])
def test_a_secret_on_the_command_line_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"--override {name}=... shows a secret to everyone") as raised:
        load(overrides=[f"{name}=s3cret"])
    assert "s3cret" not in str(raised.value)
