"""The distinguished name in a client certificate, as Java writes it: the name of the client's principal in Kafka.

Rules are written for this text, so it must be the same to the byte. Source: RFC 2253, X500Principal.getName() of the
JDK, which Kafka's `DefaultKafkaPrincipalBuilder` asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from coordinator.security.der import elements, object_identifier, read_certificate

_KEYWORDS: Final[Mapping[str, str]] = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
# UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString. Java reads all of them as UTF-8.
_STRINGS: Final = frozenset((0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E))
_ESCAPES: Final = str.maketrans({**{char: f"\\{char}" for char in ',=+<>#;"\\'}, "\0": "\\00"})
_BLANKS: Final = " \r"


def principal_name(certificate: bytes) -> str:
    """Return the name in a certificate (DER) that OpenSSL has accepted. Raises ValueError for what is not DER."""
    names = elements(read_certificate(certificate).subject)
    return ",".join("+".join(_pair(part.content) for part in elements(name.content)) for name in reversed(names))


def _pair(content: bytes) -> str:
    """Return the type and the value of one attribute."""
    identifier, value = elements(content)
    number = object_identifier(identifier.content)
    keyword = _KEYWORDS.get(number)
    if keyword is None or value.tag not in _STRINGS:
        return f"{keyword or number}=#{value.encoded.hex()}"
    return f"{keyword}={_escape(value.content.decode(errors='replace'))}"


def _escape(text: str) -> str:
    text = text.translate(_ESCAPES)
    start = len(text) - len(text.lstrip(_BLANKS))
    end = max(start, len(text.rstrip(_BLANKS)))
    return "".join(f"\\{char}" for char in text[:start]) + text[start:end] + "".join(f"\\{c}" for c in text[end:])
