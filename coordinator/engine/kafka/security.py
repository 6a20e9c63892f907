"""TLS and the login (SASL) of connections to brokers, as the file of `log.engine.config.file` says.

The file has the settings of a Kafka client. It is read once, and so are the certificates that it names. The token of
OAUTHBEARER is read again for each connection, since it expires. Source: KIP-368 for the lifetime of a session.
"""

from __future__ import annotations

import asyncio
import math
import ssl
from pathlib import Path
from typing import Final, NamedTuple

from coordinator.config.properties import PropertiesError, parse_properties
from coordinator.config.values import Address
from coordinator.security.async_login import Call, log_in_by
from coordinator.security.client_settings import ClientSecurity, ClientSettingsError, client_security
from coordinator.security.sasl_client import LoginError
from coordinator.security.tls import client_context
from coordinator.security.tls_settings import TlsError
from coordinator.storage.log_store import LogStoreError

FILE_KEY: Final = "log.engine.config.file"
USABLE_PART: Final = 0.85  # of the lifetime of a session; a request must arrive within the rest
_WRONG_NAME: Final = (62, 64)  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH


class BrokerLoginError(Exception):
    """A login failed by the settings or by what the broker answered. The message is one sentence without secrets."""


class BrokerSecurity(NamedTuple):
    """The protection of connections, and the user that they log in as. `source` is the place of the settings."""

    settings: ClientSecurity = ClientSecurity()
    context: ssl.SSLContext | None = None
    source: str = FILE_KEY

    @property
    def has_tls(self) -> bool:
        return self.context is not None

    @property
    def has_sasl(self) -> bool:
        return self.settings.has_sasl

    def without_login(self) -> BrokerSecurity:
        """Return the same protection of connections, which log in nowhere."""
        return self._replace(settings=ClientSecurity())

    async def log_in(self, call: Call) -> float:
        """Log in on a connection; `call` sends a request and returns its response.

        Returns the time of the event loop up to which requests may be sent. Raises BrokerLoginError, and what `call`
        raises.
        """
        if not self.has_sasl:
            return math.inf
        loop = asyncio.get_running_loop()
        settings = self.settings
        try:
            secret = await asyncio.to_thread(settings.secret)
            began_s = loop.time()
            lifetime_ms = await log_in_by(call, settings.mechanism, settings.username, secret)
        except (ClientSettingsError, LoginError) as error:
            raise BrokerLoginError(f"{error} ({self.source})") from None
        return began_s + USABLE_PART * lifetime_ms / 1000 if lifetime_ms > 0 else math.inf

    def handshake_problem(self, address: Address, error: ssl.SSLError) -> str:
        """Return the reason why there is no connection with TLS as a sentence."""
        if not isinstance(error, ssl.SSLCertVerificationError):
            return (
                f"{address} does not complete a TLS handshake ({error.reason or error}); in {self.source}, set "
                "security.protocol to PLAINTEXT or SASL_PLAINTEXT if the listener has no TLS, or ssl.keystore.location "
                "to a certificate that it accepts"
            )
        reason = error.verify_message.rstrip(".")
        if error.verify_code in _WRONG_NAME:
            return (
                f"the certificate of {address} is for another host ({reason}); have log.engine, and "
                "advertised.listeners of the broker, name a host that is in the certificate"
            )
        return (
            f"the certificate of {address} is not trusted ({reason}); in {self.source}, set ssl.truststore.location "
            "to the authority that signed it"
        )


def read_security(file: str) -> BrokerSecurity:
    """Read the settings of a file; "" stands for no TLS and no login. Blocks. Raises LogStoreError."""
    if not file:
        return BrokerSecurity()
    source = f"{FILE_KEY} {file}"
    try:
        settings = client_security(_properties(file))
        tls = (settings.tls, settings.endpoint_identification_algorithm)
        return BrokerSecurity(settings, client_context(*tls) if settings.has_tls else None, source)
    except (PropertiesError, ClientSettingsError, TlsError) as error:
        raise LogStoreError(f"{source}: {error}", may_pass=False) from None


def _properties(file: str) -> dict[str, str]:
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LogStoreError(
            f"{FILE_KEY} {file} cannot be read ({_reason(error)}); give the path of a properties file",
            may_pass=False,
        ) from None
    return {entry.key: entry.value for entry in parse_properties(text)}


def _reason(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not text"
    return error.strerror or str(error)
