"""The settings of TLS, under the names of Kafka's ssl.* keys (Kafka's `SslConfigs`, `BrokerSecurityConfigs`)."""

from __future__ import annotations

from typing import Literal, NamedTuple


class TlsError(Exception):
    """A setting or a store that cannot be used. The message is one sentence that names the setting."""


class TlsSettings(NamedTuple):
    """An empty text is a setting that is not given."""

    keystore_type: str = "PEM"
    keystore_location: str = ""
    keystore_password: str = ""
    keystore_key: str = ""
    keystore_certificate_chain: str = ""
    key_password: str = ""
    truststore_type: str = "PEM"
    truststore_location: str = ""
    truststore_password: str = ""
    truststore_certificates: str = ""
    client_auth: Literal["none", "requested", "required"] = "none"
    enabled_protocols: str = "TLSv1.2,TLSv1.3"
    cipher_suites: str = ""

    def __repr__(self) -> str:
        """Return a text without passwords and keys."""
        return f"TlsSettings({self.keystore_location!r}, {self.truststore_location!r}, ...)"
