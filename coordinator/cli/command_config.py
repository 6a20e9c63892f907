"""The file of --command-config: how the connections of commands reach a listener with TLS or SASL."""

from __future__ import annotations

import secrets
import ssl
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from coordinator.cli.client import UnreachableError
from coordinator.cli.errors import CliError
from coordinator.config.properties import PropertiesError, parse_properties
from coordinator.security.client_settings import ClientSettingsError, client_security
from coordinator.security.sasl_client import LoginError, log_in
from coordinator.security.tls import client_context
from coordinator.security.tls_settings import TlsError

if TYPE_CHECKING:
    import socket

    from coordinator.cli.client import NodeConnection
    from coordinator.config.values import Address


def read_settings(path: Path) -> dict[str, str]:
    """Return the settings in the file, by key. Raises CliError."""
    try:
        return {entry.key: entry.value for entry in parse_properties(path.read_text(encoding="utf-8"))}
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(
            f"--command-config {path} cannot be read ({_reason(error)}); give the path of a properties file"
        ) from None
    except PropertiesError as error:
        raise CliError(f"{path}: {error}") from None


class CommandConfig:
    """The settings of one file. Raises CliError, as all methods do."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._security = client_security(read_settings(path))
            self._context: ssl.SSLContext | None = None
            if self._security.has_tls:
                self._context = client_context(self._security.tls, self._security.endpoint_identification_algorithm)
        except (ClientSettingsError, TlsError) as error:
            raise CliError(f"{path}: {error}") from None

    @property
    def has_tls(self) -> bool:
        return self._context is not None

    def wrap(self, connection: socket.socket, address: Address) -> socket.socket:
        """Do the TLS handshake if there is TLS. A connection whose handshake fails is closed."""
        if self._context is None:
            return connection
        try:
            return self._context.wrap_socket(connection, server_hostname=address.host)
        except ssl.SSLCertVerificationError as error:
            raise UnreachableError(
                f"the certificate of {address} is not accepted ({error.verify_message}); set ssl.truststore.location "
                f"in {self._path} to the authority that signed it, or use a host name that is in it"
            ) from None
        except OSError as error:
            raise UnreachableError(
                f"{address} does not complete a TLS handshake ({_reason(error)}); in {self._path}, set "
                "security.protocol to PLAINTEXT or SASL_PLAINTEXT if the listener has no TLS, or ssl.keystore.location "
                "if it wants a certificate"
            ) from None

    def log_in(self, connection: NodeConnection) -> None:
        """Log in if there is SASL."""
        security = self._security
        if not security.has_sasl:
            return
        try:
            secret = security.secret()
        except ClientSettingsError as error:
            raise CliError(f"{self._path}: {error}") from None
        steps = log_in(security.mechanism, security.username, secret, secrets.token_urlsafe())
        response: object = None
        try:
            with suppress(StopIteration):
                while True:
                    response = connection.call(steps.send(response), object)
        except LoginError as error:
            raise CliError(f"cannot log in to {connection.address} by {self._path}: {error}") from None


def _reason(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not text"
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
