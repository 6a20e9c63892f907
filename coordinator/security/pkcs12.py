"""A reader of PKCS12 stores. It needs the package `cryptography`, so `key_store.py` loads it late. Source: RFC 7292."""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12


def read_pkcs12(data: bytes, password: str) -> tuple[list[str], list[bytes]]:
    """Return the keys as PEM, and the certificates as DER, of which that of the key is first. Raises ValueError."""
    try:
        store = pkcs12.load_pkcs12(data, password.encode())
    except UnsupportedAlgorithm as error:
        raise ValueError(str(error)) from None
    keys = [store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()] if store.key else []
    certificates = [store.cert, *store.additional_certs] if store.cert else store.additional_certs
    return keys, [row.certificate.public_bytes(Encoding.DER) for row in certificates]
