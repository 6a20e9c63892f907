"""Key stores and trust stores: what their files hold, as PEM in memory.

What is checked and what is used are thus the same bytes, although a file may change meanwhile. The rules for settings
that exclude each other are those of Kafka's `DefaultSslEngineFactory`. As in Java, PKCS12 is also what a store of the
type JKS may be. The package `cryptography` is needed for PKCS12 alone.
"""

from __future__ import annotations

import hashlib
import re
import ssl
from base64 import b64decode, encodebytes
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.security.der import read_certificate
from coordinator.security.tls_settings import TlsError
from coordinator.version import install

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from coordinator.security.tls_settings import TlsSettings

_BLOCK: Final = re.compile(r"-----BEGIN (CERTIFICATE|[A-Z ]*PRIVATE KEY)-----(?:([^-]*)-----END \1-----)?")
_ONLY_JAVA: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")  # JKS, JCEKS


class Material(NamedTuple):
    """The contents of both stores."""

    key: str
    """The private key, which may be encrypted with ssl.key.password; empty if no key store is set."""

    chain: str
    """Our own certificate, and those of its issuers."""

    trusted: str
    """The certificates of the trust store; empty if none is set."""

    not_before_ms: int
    not_after_ms: int
    """The time in which each certificate of the chain is valid, in ms since the epoch; -1 without a key store."""

    @property
    def fingerprint(self) -> bytes:
        """Return a hash that is another one once a key or a certificate is."""
        return hashlib.sha256("\n".join((self.key, self.chain, self.trusted)).encode()).digest()

    def __repr__(self) -> str:
        """Return a text without the key."""
        return f"Material({self.fingerprint.hex()})"


class _Contents(NamedTuple):
    keys: Sequence[str]
    certificates: Sequence[bytes]
    """That of the key comes first."""


class _Store(NamedTuple):
    name: str
    type: str
    location: str
    password: str
    pem: dict[str, str]
    """The settings that give contents in place of a file."""

    def read(self) -> _Contents | None:
        """Return the contents, or None if the store is not set."""
        inline = {f"{self.name}.{key}": text for key, text in self.pem.items() if text}
        if self.type not in ("PEM", "PKCS12", "JKS"):
            raise TlsError(f"{self.name}.type {self.type!r} is unknown; write PEM or PKCS12")
        if inline and (self.location or self.type != "PEM"):
            raise TlsError(
                f"{next(iter(inline))} stands in place of {self.name}.location, and needs {self.name}.type=PEM; remove "
                "one of them"
            )
        if self.password and self.type == "PEM":
            raise TlsError(
                f"{self.name}.password is set, but a store of the type PEM has none; set {self.name}.type=PKCS12 if it "
                "is one, or remove the password (that of an encrypted key is ssl.key.password)"
            )
        if self.password and not self.location:
            raise TlsError(f"{self.name}.password is set, but {self.name}.location is not; set both or none")
        if inline:
            return self._checked(_parse_pem(self.source, "\n".join(inline.values())))
        return self._checked(self._read_file()) if self.location else None

    @property
    def source(self) -> str:
        """Return the name of the setting that gives the contents, with its value if that is no secret."""
        inline = " and ".join(f"{self.name}.{key}" for key, text in self.pem.items() if text)
        return inline or f"{self.name}.location {self.location}"

    def _read_file(self) -> _Contents:
        try:
            data = Path(self.location).read_bytes()
        except OSError as error:
            raise TlsError(
                f"{self.source}: the file cannot be read ({error.strerror}); correct the path or its permissions"
            ) from None
        if data.startswith(_ONLY_JAVA):
            target = f"{self.location}.p12"
            raise TlsError(
                f"{self.source}: only Java reads a JKS store; convert it by keytool -importkeystore -srckeystore "
                f"{self.location} -destkeystore {target} -deststoretype PKCS12, and set {self.name}.location={target} "
                f"and {self.name}.type=PKCS12"
            )
        if self.type == "PEM":
            return _parse_pem(self.source, data.decode("latin-1"))
        return _parse_pkcs12(self.source, data, self.password, f"{self.name}.password")

    def _checked(self, contents: _Contents) -> _Contents:
        if not contents.certificates:
            raise TlsError(
                f"{self.source}: there is no certificate in it; add one, or correct {self.name}.type if the store is "
                f"not {self.type}"
            )
        try:
            for certificate in contents.certificates:
                read_certificate(certificate)
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=_pem_of(contents.certificates))
        except (ssl.SSLError, ValueError):
            raise TlsError(f"{self.source}: a certificate in it is damaged; write the store anew") from None
        return contents


def read_material(settings: TlsSettings) -> Material:
    """Read both stores. Blocks. Raises TlsError."""
    key_store = _Store(
        "ssl.keystore",
        settings.keystore_type,
        settings.keystore_location,
        settings.keystore_password,
        {"key": settings.keystore_key, "certificate.chain": settings.keystore_certificate_chain},
    )
    trust_store = _Store(
        "ssl.truststore",
        settings.truststore_type,
        settings.truststore_location,
        settings.truststore_password,
        {"certificates": settings.truststore_certificates},
    )
    own, trusted = key_store.read(), trust_store.read()
    trusted_pem = _pem_of(trusted.certificates) if trusted else ""
    if own is None:
        return Material("", "", trusted_pem, -1, -1)
    if len(own.keys) != 1:
        raise TlsError(
            f"{key_store.source}: {len(own.keys)} private keys are in it; give exactly one, which in PEM begins with "
            "-----BEGIN PRIVATE KEY-----"
        )
    chain = own.certificates if settings.keystore_type == "PEM" else _chain(*own.certificates)
    parts = [read_certificate(certificate) for certificate in chain]
    return Material(
        own.keys[0],
        _pem_of(chain),
        trusted_pem,
        max(part.not_before_ms for part in parts),
        min(part.not_after_ms for part in parts),
    )


def _parse_pem(source: str, text: str) -> _Contents:
    """Return the keys and certificates in a text. The lines of a block may be joined by blanks, as in Kafka."""
    keys: list[str] = []
    certificates: list[bytes] = []
    try:
        for label, body in _BLOCK.findall(text):
            content = b64decode("".join(body.split()), validate=True)
            if not content:
                raise ValueError("a block has no end, or has headers")
            if label == "CERTIFICATE":
                certificates.append(content)
            else:
                keys.append(f"-----BEGIN {label}-----\n{encodebytes(content).decode()}-----END {label}-----\n")
    except ValueError:
        raise TlsError(
            f"{source}: a key or certificate in it is damaged, or a key is not PKCS #8; write it anew (openssl pkcs8 "
            "-topk8 converts a key)"
        ) from None
    return _Contents(keys, certificates)


def _parse_pkcs12(source: str, data: bytes, password: str, password_name: str) -> _Contents:
    try:
        read = import_module("coordinator.security.pkcs12").read_pkcs12
    except ImportError:
        raise TlsError(
            f"{source}: a PKCS12 store needs a package that is not installed; use PEM, or run {install('security')}"
        ) from None
    try:
        return _Contents(*read(data, password))
    except ValueError:
        raise TlsError(
            f"{source}: the file is not a PKCS12 store, or {password_name} does not open it; correct one of them"
        ) from None


def _chain(own: bytes, *others: bytes) -> Sequence[bytes]:
    """Return the certificate and those of its issuers, as far as they are among the others."""
    by_subject = {read_certificate(other).subject: other for other in others}
    chain = [own]
    while (issuer := by_subject.pop(read_certificate(chain[-1]).issuer, own)) not in chain:
        chain.append(issuer)
    return chain


def _pem_of(certificates: Iterable[bytes]) -> str:
    return "".join(map(ssl.DER_cert_to_PEM_cert, certificates))
