"""Settings of the client that observes, from a properties file in Kafka's words (`--command-config FILE`).

Passwords come from this file only, never from the command line. The names are those of Kafka's Java clients; those of
librdkafka for the same things (`sasl.username`, `ssl.ca.location`, ...) are understood, too. Keys that only other
clients need, such as `group.id`, are ignored and listed in `ignored`.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from coordinator.config.listeners import PLAINTEXT, PROTOCOLS
from coordinator.config.properties import PropertiesError, parse_properties
from coordinator.config.security import MECHANISMS
from coordinator.observe.errors import ObserveError
from coordinator.security.client_settings import ClientSettingsError, kafka_settings

DEFAULT_CLIENT_ID: Final = "coordinator-observe"


@dataclass(frozen=True, slots=True)
class TokenSource:
    """The place that OAUTHBEARER tokens come from: a file, or an endpoint for client credentials."""

    url: str  # http, https, or file
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scope: str = ""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The settings of connections. `ssl_context` is None where the protocol has no TLS."""

    security_protocol: str = PLAINTEXT
    sasl_mechanism: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    token_source: TokenSource | None = None
    ssl_context: ssl.SSLContext | None = None
    client_id: str = DEFAULT_CLIENT_ID
    request_timeout_ms: int = 15_000
    ignored: tuple[str, ...] = ()

    @property
    def uses_tls(self) -> bool:
        return self.security_protocol.endswith("SSL")

    @property
    def uses_sasl(self) -> bool:
        return self.security_protocol.startswith("SASL")

    @classmethod
    def read(cls, path: Path | None) -> Self:
        """Read a file; None: the defaults. ObserveError: it cannot be used."""
        if path is None:
            return cls()
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
            raise ObserveError(
                f"--command-config {path} cannot be read ({reason}); give the path of a properties file"
            ) from None
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, name: str) -> Self:
        """Parse the text of a file. ObserveError names the key, and never the value of a password."""
        try:
            facts = kafka_settings({entry.key: entry.value for entry in parse_properties(text)})
        except (PropertiesError, ClientSettingsError) as error:
            raise ObserveError(f"{name}: {error}") from None
        protocol = facts.get("security.protocol", PLAINTEXT).upper()
        if protocol not in PROTOCOLS:
            raise ObserveError(f"{name}: security.protocol={protocol} is not one of {', '.join(PROTOCOLS)}")
        return cls(
            security_protocol=protocol,
            client_id=facts.get("client.id") or DEFAULT_CLIENT_ID,
            request_timeout_ms=_number(facts, "request.timeout.ms", 15_000, name),
            ssl_context=_ssl_context(facts, name) if protocol.endswith("SSL") else None,
            ignored=tuple(sorted(facts.keys() - _KNOWN)),
            **_sasl(facts, name) if protocol.startswith("SASL") else {},
        )


_KNOWN: Final = frozenset(
    [
        "security.protocol",
        "client.id",
        "request.timeout.ms",
        "sasl.mechanism",
        "sasl.jaas.config",
        "sasl.username",
        "sasl.password",
        "sasl.oauthbearer.method",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.scope",
        "sasl.login.callback.handler.class",
        "ssl.truststore.location",
        "ssl.truststore.type",
        "ssl.truststore.certificates",
        "ssl.keystore.location",
        "ssl.keystore.type",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.certificate.location",
        "ssl.key.location",
        "ssl.key.password",
        "ssl.endpoint.identification.algorithm",
        "enable.ssl.certificate.verification",
    ]
)


def _number(facts: Mapping[str, str], key: str, default: int, name: str) -> int:
    value = facts.get(key, str(default))
    if not (value.isdigit() and 0 < int(value) < 3_600_000):
        raise ObserveError(f"{name}: {key}={value} is no number of milliseconds below an hour")
    return int(value)


def _sasl(facts: Mapping[str, str], name: str) -> dict[str, Any]:
    mechanism = facts.get("sasl.mechanism", "").upper()
    if mechanism not in MECHANISMS:
        raise ObserveError(
            f"{name}: sasl.mechanism={mechanism or '(none)'} is not supported here; use one of {', '.join(MECHANISMS)}"
        )
    return {"sasl_mechanism": mechanism, **_CREDENTIALS[mechanism](facts, name)}


def _password(facts: Mapping[str, str], name: str) -> dict[str, object]:
    if not (facts.get("sasl.username") and facts.get("sasl.password")):
        raise ObserveError(
            f"{name} has no user name and password; add sasl.username and sasl.password, or sasl.jaas.config"
        )
    return {"username": facts["sasl.username"], "password": facts["sasl.password"]}


def _token(facts: Mapping[str, str], name: str) -> dict[str, object]:
    url = facts.get("sasl.oauthbearer.token.endpoint.url", "")
    if not url.startswith(("https://", "http://", "file://")):
        raise ObserveError(
            f"{name}: OAUTHBEARER needs sasl.oauthbearer.token.endpoint.url, an https or file URL that tokens come from"
        )
    source = TokenSource(
        url,
        facts.get("sasl.oauthbearer.client.id", ""),
        facts.get("sasl.oauthbearer.client.secret", ""),
        facts.get("sasl.oauthbearer.scope", ""),
    )
    return {"token_source": source}


_CREDENTIALS: Final[Mapping[str, Callable[[Mapping[str, str], str], dict[str, object]]]] = {
    "PLAIN": _password,
    "SCRAM-SHA-256": _password,
    "SCRAM-SHA-512": _password,
    "OAUTHBEARER": _token,
}


def _ssl_context(facts: Mapping[str, str], name: str) -> ssl.SSLContext:
    for key in ("ssl.truststore.type", "ssl.keystore.type"):
        store = facts.get(key.replace("type", "location"), "")
        if facts.get(key, "PEM").upper() != "PEM" or store.endswith((".jks", ".p12", ".pfx")):
            raise ObserveError(
                f"{name}: {key.replace('type', 'location')} must be a PEM file; export one with "
                f"`keytool -list -rfc` or `openssl pkcs12`, and set {key}=PEM"
            )
    context = ssl.create_default_context()
    try:
        if facts.get("ssl.truststore.location"):
            context.load_verify_locations(cafile=facts["ssl.truststore.location"])
        if facts.get("ssl.truststore.certificates"):
            context.load_verify_locations(cadata=facts["ssl.truststore.certificates"])
        _load_own_certificate(context, facts)
    except (OSError, ssl.SSLError, ValueError) as error:
        raise ObserveError(
            f"{name}: a certificate or key cannot be loaded ({getattr(error, 'strerror', None) or error}); check the "
            "paths of ssl.truststore.location and ssl.keystore.location, and that both are PEM files"
        ) from None
    # Kafka checks the host name unless this is set to an empty value.
    if facts.get("ssl.endpoint.identification.algorithm", "https") in ("", "none"):
        context.check_hostname = False
    if facts.get("enable.ssl.certificate.verification", "true").lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _load_own_certificate(context: ssl.SSLContext, facts: Mapping[str, str]) -> None:
    """Load the client's certificate and key, from one PEM file or from two."""
    if facts.get("ssl.keystore.certificate.chain"):
        raise ValueError(
            "ssl.keystore.certificate.chain cannot be given inline; name a file with ssl.keystore.location"
        )
    chain = facts.get("ssl.keystore.location") or facts.get("ssl.certificate.location")
    if chain:
        context.load_cert_chain(chain, facts.get("ssl.key.location") or None, facts.get("ssl.key.password") or None)
