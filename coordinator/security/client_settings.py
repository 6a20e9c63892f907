"""The security settings of a Kafka client, under the names of its properties file.

The names of librdkafka for the same things (`sasl.username`, `ssl.ca.location`, ...) are understood, too. Keys that
mean nothing here are ignored, so that the file of a consumer can be used. The module that `sasl.jaas.config` names is
not looked at, because `sasl.mechanism` decides. Source: Kafka's `CommonClientConfigs`, `SaslConfigs` and `SslConfigs`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from coordinator.config.listeners import PLAINTEXT, PROTOCOLS
from coordinator.config.security import MECHANISMS
from coordinator.security.jaas import parse_jaas
from coordinator.security.tls_settings import TlsSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

# Names of librdkafka and older spellings, by Kafka's names.
_ALIASES: Final = {
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
}
# Options of a JAAS entry, by the key that says the same.
_JAAS_KEYS: Final = {
    "username": "sasl.username",
    "password": "sasl.password",
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}
_TLS_FIELDS: Final = [field for field in TlsSettings._fields if field != "client_auth"]
_TOKEN_FILE: Final = "sasl.oauthbearer.token.file"


class ClientSettingsError(ValueError):
    """A setting cannot be used. The message is one sentence that names its key, and has no password."""


class ClientSecurity(NamedTuple):
    """The protection of the connections of a client, and the user that it logs in as."""

    protocol: str = PLAINTEXT
    tls: TlsSettings = TlsSettings()
    endpoint_identification_algorithm: str = "https"
    mechanism: str = ""
    username: str = ""
    password: str = ""
    token_file: str = ""

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        return self.protocol.startswith("SASL_")

    def secret(self) -> str:
        """Return the password, or the token that is in its file now. Blocks. Raises ClientSettingsError."""
        if not self.token_file:
            return self.password
        try:
            return Path(self.token_file).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = "it is not text" if isinstance(error, UnicodeDecodeError) else error.strerror or str(error)
            raise ClientSettingsError(
                f"the token in {self.token_file} cannot be read ({reason}); correct the path or its permissions"
            ) from None

    def __repr__(self) -> str:
        """Return a text without passwords."""
        return f"ClientSecurity({self.protocol!r}, {self.mechanism!r}, {self.username!r}, ...)"


def kafka_settings(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the settings under Kafka's names, and those in sasl.jaas.config under keys. Raises ClientSettingsError."""
    facts = {_ALIASES.get(key, key): value.strip() for key, value in properties.items()}
    if facts.get("sasl.jaas.config"):
        entry = parse_jaas(facts["sasl.jaas.config"])
        if entry is None:
            raise ClientSettingsError(
                "sasl.jaas.config is not one JAAS entry with quoted values; write "
                'org.apache.kafka.common.security.scram.ScramLoginModule required username="..." password="...";'
            )
        for option, key in _JAAS_KEYS.items():
            if option in entry.options:
                facts.setdefault(key, entry.options[option])
    return facts


def client_security(properties: Mapping[str, str]) -> ClientSecurity:
    """Return the settings of these properties. Raises ClientSettingsError."""
    facts = kafka_settings(properties)
    protocol = facts.get("security.protocol", PLAINTEXT).upper()
    if protocol not in PROTOCOLS:
        raise ClientSettingsError(f"security.protocol={protocol} is not one of {', '.join(PROTOCOLS)}; correct it")
    found = ClientSecurity(protocol)
    if found.has_tls:
        given = {field: facts.get("ssl." + field.replace("_", ".")) for field in _TLS_FIELDS}
        tls: dict[str, Any] = {field: value for field, value in given.items() if value is not None}
        algorithm = facts.get("ssl.endpoint.identification.algorithm", "https")
        found = found._replace(
            tls=TlsSettings(**tls),
            endpoint_identification_algorithm="" if algorithm == "none" else algorithm,  # none: that of librdkafka
        )
    return found._replace(**_sasl(facts)) if found.has_sasl else found


def _sasl(facts: Mapping[str, str]) -> dict[str, Any]:
    mechanism = facts.get("sasl.mechanism", "").upper()
    if mechanism not in MECHANISMS:
        raise ClientSettingsError(
            f"sasl.mechanism={mechanism or '(none)'} is not supported here; use one of {', '.join(MECHANISMS)}"
        )
    if mechanism == "OAUTHBEARER":
        return {"mechanism": mechanism, "token_file": _token_file(facts)}
    username, password = facts.get("sasl.username"), facts.get("sasl.password")
    if not (username and password):
        raise ClientSettingsError(
            "there is no user name and password; add username and password to sasl.jaas.config, or set sasl.username "
            "and sasl.password"
        )
    return {"mechanism": mechanism, "username": username, "password": password}


def _token_file(facts: Mapping[str, str]) -> str:
    url = urlsplit(facts.get("sasl.oauthbearer.token.endpoint.url", ""))
    file = facts.get(_TOKEN_FILE) or (unquote(url.path) if url.scheme == "file" else "")
    if not file:
        raise ClientSettingsError(
            f"OAUTHBEARER (OAuthBearerLoginModule) gets no token from an issuer here; write a token to a file, and set "
            f"{_TOKEN_FILE} to its path"
        )
    return file
