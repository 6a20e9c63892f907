"""SSL contexts of listeners, and of connections to other nodes and clusters.

A session is not resumed by another context than its own (and one of TLS 1.3 never is), so that with a new context the
authorities of its trust store count at the next connection.
Source: Kafka's `DefaultSslEngineFactory`. In contrast to Kafka, a listener that asks for client certificates needs a
trust store: the authorities of the system would let in each holder of a public certificate.
"""

from __future__ import annotations

import os
import re
import ssl
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from coordinator.security.key_store import read_material
from coordinator.security.tls_settings import TlsError

if TYPE_CHECKING:
    from coordinator.security.key_store import Material
    from coordinator.security.tls_settings import TlsSettings

_VERIFY_MODES: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_VERSIONS: Final[Mapping[str, ssl.TLSVersion]] = {
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
# OpenSSL uses all three, and Python has no means to leave one out.
_TLS_1_3_SUITES: Final = frozenset(
    ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"),
)
_TLS_1_2_SUITE: Final = re.compile(
    r"TLS_(?:(ECDHE)_(ECDSA|RSA)|RSA)_WITH_(?:AES_(128|256)_(?:CBC|(GCM))_(SHA[0-9]*)|(CHACHA20)_(POLY1305)_SHA256)"
)
# Reasons of OpenSSL.
_MISFITS: Final = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")
_WEAK: Final = ("EE_", "CA_")  # as EE_KEY_TOO_SMALL


class AlertingSSLObject(ssl.SSLObject):
    """Keeps the alert of a handshake that fails, as `alert` of the error: asyncio and uvloop do not send it."""

    outgoing: ssl.MemoryBIO

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            error.alert = self.outgoing.read()  # type: ignore[attr-defined]
            raise


class AlertingSSLContext(ssl.SSLContext):
    """Makes objects that keep the alert."""

    sslobject_class = AlertingSSLObject

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **others: Any) -> ssl.SSLObject:
        made = super().wrap_bio(incoming, outgoing, *args, **others)
        if isinstance(made, AlertingSSLObject):
            made.outgoing = outgoing
        return made


def server_context(material: Material, settings: TlsSettings) -> ssl.SSLContext:
    """Return the context of a listener. Blocks if the key is encrypted. Raises TlsError."""
    if not material.chain:
        raise TlsError("ssl.keystore.location is not set, but a TLS listener needs a certificate; set it")
    if settings.client_auth != "none" and not material.trusted:
        raise TlsError(
            f"ssl.truststore.location is not set, but ssl.client.auth={settings.client_auth} needs the authorities of "
            "clients; set it"
        )
    context = _context(ssl.PROTOCOL_TLS_SERVER, material, settings)
    context.num_tickets = 0
    context.verify_mode = _VERIFY_MODES[settings.client_auth]
    return context


def client_context(settings: TlsSettings, endpoint_identification_algorithm: str = "https") -> ssl.SSLContext:
    """Return the context of connections to servers. Blocks. Raises TlsError.

    The host name is checked by the algorithm "https", and not at all by "". The system's authorities are trusted if no
    trust store is set.
    """
    algorithm = endpoint_identification_algorithm.lower()
    if algorithm not in ("https", ""):
        raise TlsError(
            f"ssl.endpoint.identification.algorithm {algorithm!r} is unknown; write https, or nothing for no check of "
            "the host name"
        )
    material = read_material(settings)
    context = _context(ssl.PROTOCOL_TLS_CLIENT, material, settings)
    context.check_hostname = algorithm == "https"
    if not material.trusted:
        context.load_default_certs()
    return context


def _context(protocol: int, material: Material, settings: TlsSettings) -> ssl.SSLContext:
    context = AlertingSSLContext(protocol)
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as in Java, an authority in the middle can be trusted
    _restrict(context, settings)
    if material.chain:
        _use_own_certificate(context, material, settings)
    if material.trusted:
        context.load_verify_locations(cadata=material.trusted)
    return context


def _restrict(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Allow only the protocols and cipher suites that are set. A protocol without a suite is not used, as in Java."""
    protocols = _words(settings.enabled_protocols)
    if not protocols or not _VERSIONS.keys() >= set(protocols):
        raise TlsError(
            f"ssl.enabled.protocols {settings.enabled_protocols!r} must name TLSv1.2, TLSv1.3 or both; others are not "
            "secure"
        )
    versions = {_VERSIONS[protocol] for protocol in protocols}
    suites = set(_words(settings.cipher_suites))
    if suites:
        older = [suite for suite in _words(settings.cipher_suites) if suite not in _TLS_1_3_SUITES]
        if older:
            context.set_ciphers(":".join(_openssl_name(context, suite) for suite in older))
        else:
            versions.discard(ssl.TLSVersion.TLSv1_2)
        if not suites & _TLS_1_3_SUITES:
            versions.discard(ssl.TLSVersion.TLSv1_3)
        if ssl.TLSVersion.TLSv1_3 in versions and not suites >= _TLS_1_3_SUITES:
            raise TlsError(
                f"ssl.cipher.suites has only a part of {', '.join(sorted(_TLS_1_3_SUITES))}; name all of them or none, "
                "because none can be left out here"
            )
        if not versions:
            raise TlsError("ssl.cipher.suites has no suite of a protocol in ssl.enabled.protocols; add one")
    context.minimum_version = min(versions)
    context.maximum_version = max(versions)


def _openssl_name(context: ssl.SSLContext, suite: str) -> str:
    found = _TLS_1_2_SUITE.fullmatch(suite)
    if found:
        exchange, signature, bits, mode, digest, *stream = found.groups()
        name = "-".join(filter(None, (exchange, signature, bits and f"AES{bits}", mode, digest, *stream)))
        try:
            context.set_ciphers(name)
            return name
        except ssl.SSLError:
            pass
    raise TlsError(
        f"ssl.cipher.suites names {suite!r}, which is unknown or not secure; write names like "
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
    )


def _words(text: str) -> list[str]:
    return [word for word in (word.strip() for word in text.split(",")) if word]


def _use_own_certificate(context: ssl.SSLContext, material: Material, settings: TlsSettings) -> None:
    source = f"ssl.keystore.location {settings.keystore_location}" if settings.keystore_location else "ssl.keystore.key"
    if "ENCRYPTED" in material.key and not settings.key_password:
        raise TlsError(f"{source}: the private key in it is encrypted; set ssl.key.password")
    try:
        with _as_file(material.chain) as chain, _as_file(material.key) as key:
            context.load_cert_chain(chain, key, settings.key_password)
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or ""
        if reason in _MISFITS:
            problem = "the key does not fit its certificate; put the certificate of the key before the others"
        elif reason.startswith(_WEAK):
            problem = f"a certificate in it is too weak ({reason}); have a stronger one issued"
        elif "ENCRYPTED" in material.key:
            problem = "ssl.key.password does not decrypt the private key in it; correct it"
        else:
            problem = "the private key in it is damaged; write it anew as PKCS #8"
        raise TlsError(f"{source}: {problem}") from None


@contextmanager
def _as_file(text: str) -> Iterator[str]:
    """Lend the path of a file that is in memory, or else has no name, so that no key remains on a disk."""
    with os.fdopen(os.memfd_create("tls"), "w+") if sys.platform == "linux" else tempfile.TemporaryFile("w+") as file:
        file.write(text)
        file.seek(0)
        yield f"/dev/fd/{file.fileno()}"
