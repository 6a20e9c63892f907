"""A small certificate authority: files that our daemon, librdkafka and Java accept, with keys on P-256 as PKCS #8."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)
HOUR = datetime.timedelta(hours=1)
KEY_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


class Issued(NamedTuple):
    """A certificate and its files."""

    certificate: x509.Certificate
    private_key: ec.EllipticCurvePrivateKey
    issuers: tuple[x509.Certificate, ...]
    """The authorities below the root that are needed to check it."""

    pem: Path
    """The key, and then the chain."""

    certificate_pem: Path
    """The chain alone."""

    key_pem: Path
    """The key alone."""

    def encrypted(self, password: str) -> Path:
        """Return a file with the key, encrypted, and then the chain."""
        path = self.pem.with_suffix(".encrypted.pem")
        key = _key_pem(self.private_key, BestAvailableEncryption(password.encode()))
        path.write_bytes(key + self.certificate_pem.read_bytes())
        return path

    def pkcs12(self, password: str) -> Path:
        path = self.pem.with_suffix(".p12")
        encryption = BestAvailableEncryption(password.encode())
        path.write_bytes(
            pkcs12.serialize_key_and_certificates(
                path.stem.encode(), self.private_key, self.certificate, self.issuers, encryption
            )
        )
        return path


class Authority:
    """An authority. Its own certificate is in the file `pem`. One with a parent is not a root."""

    def __init__(self, directory: Path, name: str = "authority", parent: Authority | None = None) -> None:
        self.directory = directory
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.key = ec.generate_private_key(ec.SECP256R1())
        start = datetime.datetime.now(datetime.UTC) - DAY
        builder = _builder(self.name, self.key, start, 30 * DAY, "key_cert_sign", "crl_sign")
        self.certificate = (parent or self).sign(builder)
        self.issuers: tuple[x509.Certificate, ...] = (self.certificate, *parent.issuers) if parent else ()
        self.pem = directory / f"{name}.ca.pem"
        self.pem.write_bytes(self.certificate.public_bytes(Encoding.PEM))

    def issue(
        self,
        common_name: str,
        *,
        days: int = 1,
        expired: bool = False,
        organization: str = "",
        dns: tuple[str, ...] = ("localhost",),
        ip: tuple[str, ...] = ("127.0.0.1",),
    ) -> Issued:
        """Issue a certificate for a server or client, valid since an hour ago; an expired one was until then."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = {NameOID.ORGANIZATION_NAME: organization, NameOID.COMMON_NAME: common_name}
        start = datetime.datetime.now(datetime.UTC) - HOUR - (days * DAY if expired else 0 * DAY)
        subject = x509.Name([x509.NameAttribute(oid, text) for oid, text in names.items() if text])
        hosts = [*map(x509.DNSName, dns), *(x509.IPAddress(ipaddress.ip_address(each)) for each in ip)]
        purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = _builder(subject, key, start, days * DAY, "digital_signature")
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        certificate = self.sign(builder)
        chain = b"".join(each.public_bytes(Encoding.PEM) for each in (certificate, *self.issuers))
        files = {"pem": _key_pem(key) + chain, "crt": chain, "key": _key_pem(key)}
        for suffix, content in files.items():
            (self.directory / f"{common_name}.{suffix}").write_bytes(content)
        paths = (self.directory / f"{common_name}.{suffix}" for suffix in files)
        return Issued(certificate, key, self.issuers, *paths)

    def sign(self, builder: x509.CertificateBuilder) -> x509.Certificate:
        own_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return builder.issuer_name(self.name).add_extension(own_key, critical=False).sign(self.key, SHA256())


def _builder(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    start: datetime.datetime,
    life: datetime.timedelta,
    *usages: str,
) -> x509.CertificateBuilder:
    is_authority = "key_cert_sign" in usages
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**{usage: usage in usages for usage in KEY_USAGES}), critical=True)
    )


def _key_pem(key: ec.EllipticCurvePrivateKey, encryption: KeySerializationEncryption | None = None) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption())
