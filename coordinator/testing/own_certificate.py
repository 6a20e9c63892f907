"""The trust that a test has in the HTTP port of its own server: in the certificate that it gave to the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.http.port import tls_config
from coordinator.security.key_store import read_material
from coordinator.security.tls import client_context
from coordinator.security.tls_listener import tls_settings
from coordinator.security.tls_settings import TlsSettings

if TYPE_CHECKING:
    import ssl

    from coordinator.config.config import Config


def trusting(config: Config) -> ssl.SSLContext | None:
    """Return a context that trusts the certificate of the port and shows the same; None if the port has no TLS.

    Raises TlsError.
    """
    own = tls_config(config)
    if own is None:
        return None
    settings = tls_settings(own)
    material = read_material(settings)
    return client_context(
        TlsSettings(
            keystore_key=material.key,
            keystore_certificate_chain=material.chain,
            key_password=settings.key_password,
            truststore_certificates=material.chain,
            enabled_protocols=settings.enabled_protocols,
            cipher_suites=settings.cipher_suites,
        ),
        "",
    )
