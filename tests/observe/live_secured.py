"""The observer at a real Kafka with TLS, logins and ACLs: what works, and the sentence for each thing that does not.

Needs Java, Kafka's jars and openssl, so `make interchange` runs it and `make test` does not.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.kafka import Kafka, _free_ports
from tests.observe.follow import Following
from tests.support.eventually import eventually
from tests.support.questions import commit_offsets

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
UNSECURED = (
    "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
)


class Secured:
    """A Kafka with a listener of each kind."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ports = dict(zip(("SSL", "SASL_PLAINTEXT", "SASL_SSL"), _free_ports(3), strict=True))
        self.authority = directory / "authority.pem"
        self._make_certificate()
        self.kafka = Kafka(directory / "kafka")
        plain = f"PLAINTEXT://{self.kafka.address},CONTROLLER://127.0.0.1:{self.kafka._controller_port}"
        others = ",".join(f"{name}://localhost:{port}" for name, port in self.ports.items())
        settings = {
            "listeners": f"{plain},{others}",
            "advertised.listeners": f"PLAINTEXT://{self.kafka.address},{others}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            + ",".join(f"{name}:{name}" for name in self.ports),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:reader",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(directory / "broker.pem"),
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
        }
        users = 'user_reader="right" user_stranger="right"'
        for name in ("sasl_plaintext", "sasl_ssl"):
            prefix = f"listener.name.{name}"
            settings[f"{prefix}.plain.sasl.jaas.config"] = f"{PLAIN_MODULE} required {users};"
            settings[f"{prefix}.scram-sha-256.sasl.jaas.config"] = f"{SCRAM_MODULE} required;"
            settings[f"{prefix}.oauthbearer.sasl.jaas.config"] = f"{OAUTH_MODULE} required;"
            settings[f"{prefix}.oauthbearer.sasl.server.callback.handler.class"] = UNSECURED
        self.kafka._settings.update(settings)

    def _make_certificate(self) -> None:
        key, certificate = self.directory / "key.pem", self.authority
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
                *("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)),
            ],
            check=True,
            capture_output=True,
        )
        (self.directory / "broker.pem").write_text(key.read_text() + certificate.read_text())

    def start(self) -> None:
        from confluent_kafka.admin import (
            AdminClient,
            ScramCredentialInfo,
            ScramMechanism,
            UserScramCredentialUpsertion,
        )

        self.kafka.start()
        admin = AdminClient({"bootstrap.servers": self.kafka.address})
        how = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        wanted = [UserScramCredentialUpsertion("reader", how, b"right")]
        for done in admin.alter_user_scram_credentials(wanted).values():
            done.result(30)

    def address(self, listener: str) -> str:
        return f"localhost:{self.ports[listener]}" if listener in self.ports else self.kafka.address


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    found = Secured(tmp_path_factory.mktemp("secured"))
    try:
        found.start()
        found.kafka.create_topic("orders", 1)
        commit_offsets(found.kafka.port, "watched", {("orders", 0): 7})
        yield found
    finally:
        found.kafka.kill()


def login(mechanism: str = "PLAIN", user: str = "reader", password: str = "right") -> str:
    return f"sasl.mechanism={mechanism}\nsasl.username={user}\nsasl.password={password}\n"


CA = "ssl.ca.location={authority}\n"
TLS = "security.protocol=SSL\n"
SASL = "security.protocol=SASL_PLAINTEXT\n"


def observing(secured: Secured, listener: str, text: str, directory: Path) -> Following:
    config = directory / "client.properties"
    config.write_text(text.format(authority=secured.authority, token=f"file://{directory / 'token'}"))
    # An unsecured token: {"alg":"none"} and claims of the user, far in the future.
    import base64
    import json

    parts = [{"alg": "none"}, {"sub": "reader", "iat": 1_700_000_000, "exp": 4_000_000_000}]
    encoded = [base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts]
    (directory / "token").write_text(".".join([*encoded, ""]))
    return Following(secured.address(listener), directory / "mirror", config)


@pytest.mark.parametrize(
    ("listener", "text"),
    [
        ("SSL", TLS + CA),
        ("SASL_PLAINTEXT", SASL + login()),
        ("SASL_PLAINTEXT", SASL + login("SCRAM-SHA-256")),
        ("SASL_SSL", "security.protocol=SASL_SSL\n" + CA + login("SCRAM-SHA-256")),
        (
            "SASL_PLAINTEXT",
            SASL + "sasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url={token}\n",
        ),
    ],
    ids=["tls", "plain", "scram", "scram over tls", "token"],
)
def test_each_kind_of_login_is_followed(secured: Secured, listener: str, text: str, tmp_path: Path) -> None:
    with observing(secured, listener, text, tmp_path) as following:
        eventually(lambda: "failed" in following.said or following.said.get("offsets"), "it follows", within_s=30)
        assert following.said["offsets"] == {"watched|orders|0": 7}


@pytest.mark.parametrize(
    ("listener", "text", "sentence"),
    [
        ("SSL", "", "speaks TLS; set security.protocol to SSL or SASL_SSL"),
        ("PLAINTEXT", TLS, "does not complete a TLS handshake"),
        ("SSL", TLS, "is not accepted (self-signed certificate); name the authority"),
        ("SASL_PLAINTEXT", SASL + login(password="wrong"), "does not accept the user 'reader' (PLAIN)"),
        ("SASL_PLAINTEXT", SASL + login("SCRAM-SHA-256", password="wrong"), "does not accept the user 'reader'"),
        ("SASL_PLAINTEXT", SASL + login("SCRAM-SHA-512"), "does not offer the SASL mechanism SCRAM-SHA-512"),
        ("SASL_PLAINTEXT", "", "set security.protocol and sasl.*"),
        ("PLAINTEXT", SASL + login(), "wants no SASL; set security.protocol=PLAINTEXT"),
    ],
)
def test_what_is_wrong_with_a_login_is_one_sentence(
    secured: Secured, listener: str, text: str, sentence: str, tmp_path: Path
) -> None:
    with observing(secured, listener, text, tmp_path) as following:
        eventually(lambda: "failed" in following.said, "it has failed", within_s=40)
        assert sentence in following.said["failed"]


def test_missing_rights_are_one_sentence_that_names_them(secured: Secured, tmp_path: Path) -> None:
    with observing(secured, "SASL_PLAINTEXT", SASL + login(user="stranger"), tmp_path) as following:
        eventually(lambda: following.said.get("problem"), "it has a problem")
        assert "it needs the ACLs Describe and Read on topic __consumer_offsets" in following.said["problem"]
