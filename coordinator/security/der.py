"""A reader of DER, and of the parts of a certificate that the `ssl` module does not give. Source: X.690, RFC 5280."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NamedTuple

_UTC_TIME: Final = 0x17  # with two digits of the year; the other form of a date has four
_VERSION: Final = 0xA0
_MAX_IDENTIFIER: Final = 4096  # bytes, as in Java


class Element(NamedTuple):
    tag: int
    content: bytes
    encoded: bytes
    """The whole element: tag, length and content."""


class Certificate(NamedTuple):
    not_before_ms: int
    not_after_ms: int
    issuer: bytes
    subject: bytes
    """Like the issuer, the relative distinguished names in a row."""


def elements(der: bytes) -> list[Element]:
    """Return the elements in a row of them. Raises ValueError for what is not DER."""
    found = []
    start = 0
    while start < len(der):
        tag, length = der[start], int.from_bytes(der[start + 1 : start + 2])
        content = start + 2
        if length > 0x80:  # then it is the number of the bytes that have the length
            content += length & 0x7F
            length = int.from_bytes(der[start + 2 : content])
        elif length == 0x80:
            raise ValueError("an element without a length is not DER")
        end = content + length
        if content > len(der) or end > len(der) or tag & 0x1F == 0x1F:
            raise ValueError("the bytes end within an element, or have a tag of more than one byte")
        found.append(Element(tag, der[content:end], der[start:end]))
        start = end
    return found


def read_certificate(der: bytes) -> Certificate:
    """Return the parts of a certificate that OpenSSL has accepted. Raises ValueError for what is not DER."""
    try:
        (certificate,) = elements(der)
        fields = elements(elements(certificate.content)[0].content)
        # the serial number and the signature come before
        issuer, validity, subject = fields[3:6] if fields[0].tag == _VERSION else fields[2:5]
        not_before, not_after = elements(validity.content)
    except (IndexError, ValueError) as error:
        raise ValueError(f"the bytes are not a certificate in DER ({error})") from None
    return Certificate(_ms_of(not_before), _ms_of(not_after), issuer.content, subject.content)


def object_identifier(content: bytes) -> str:
    """Return an identifier as digits with dots. Raises ValueError for what is none."""
    if not content or content[-1] & 0x80 or len(content) > _MAX_IDENTIFIER:
        raise ValueError("an object identifier is too long, or ends within a number")
    numbers = [0]
    for byte in content:
        numbers[-1] = numbers[-1] << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(0)
    root = min(numbers[0] // 40, 2)
    return ".".join(map(str, (root, numbers[0] - 40 * root, *numbers[1:-1])))


def _ms_of(time: Element) -> int:
    text = time.content.decode("ascii")
    if time.tag == _UTC_TIME:
        text = ("19" if text >= "50" else "20") + text
    return int(datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp()) * 1000
