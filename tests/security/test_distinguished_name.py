"""Distinguished names: the texts in the table are those of X500Principal.getName() in OpenJDK 17.0.15."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from coordinator.security.der import elements, object_identifier, read_certificate
from coordinator.security.distinguished_name import principal_name
from tests.support.certificates import Authority

# Types of attributes, as encoded object identifiers.
CN, C, L, ST, STREET, O, OU = (bytes((0x06, 3, 0x55, 4, number)) for number in (3, 6, 7, 8, 9, 10, 11))  # noqa: E741
SERIAL, TITLE, SURNAME = (bytes((0x06, 3, 0x55, 4, number)) for number in (5, 12, 4))
UID, DC = (bytes.fromhex("060a0992268993f22c6401") + bytes((number,)) for number in (1, 25))
EMAIL = bytes.fromhex("06092a864886f70d010901")
LARGE = bytes.fromhex("0608 8837 8fffffff7f 01")

UTF8, NUMERIC, PRINTABLE, T61, IA5, GENERAL, UNIVERSAL, BMP = 0x0C, 0x12, 0x13, 0x14, 0x16, 0x1B, 0x1C, 0x1E
SEQUENCE, SET, INTEGER, UTC_TIME, GENERALIZED_TIME, VERSION = 0x30, 0x31, 0x02, 0x17, 0x18, 0xA0


def der(tag: int, *contents: bytes) -> bytes:
    content = b"".join(contents)
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8)
    return bytes((tag,)) + (bytes((0x80 | len(length),)) + length if len(content) > 0x7F else length or b"\0") + content


def attribute(kind: bytes, value: str | bytes, tag: int = UTF8) -> bytes:
    return der(SEQUENCE, kind, der(tag, value if isinstance(value, bytes) else value.encode()))


def certificate(*names: bytes, version: bytes = b"", end: bytes = b"20500101000000Z") -> bytes:
    """Return the structure of a certificate whose subject has these names, each of one or more attributes."""
    subject = der(SEQUENCE, *(der(SET, name) for name in names))
    validity = der(SEQUENCE, der(UTC_TIME, b"491231235959Z"), der(GENERALIZED_TIME, end))
    fields = (version, der(INTEGER, b"\1"), der(SEQUENCE), der(SEQUENCE, b"\5\0"), validity, subject, der(SEQUENCE))
    return der(SEQUENCE, der(SEQUENCE, *fields), der(SEQUENCE), der(0x03, b"\0"))


JAVA = [
    ((), ""),
    ((attribute(C, "US", PRINTABLE), attribute(O, "Org"), attribute(CN, "Duke")), "CN=Duke,O=Org,C=US"),
    (
        (
            attribute(DC, "cz", IA5),
            attribute(L, "x"),
            attribute(ST, "y"),
            attribute(STREET, "1 z"),
            attribute(UID, "u"),
        ),
        "UID=u,STREET=1 z,ST=y,L=x,DC=cz",
    ),
    ((attribute(OU, "b") + attribute(CN, "a") + attribute(OU, "a"),), "OU=b+CN=a+OU=a"),
    ((attribute(CN, "a"), attribute(EMAIL, "a@b.c", IA5)), "1.2.840.113549.1.9.1=#16056140622e63,CN=a"),
    ((attribute(SERIAL, "7", PRINTABLE), attribute(TITLE, "Dr")), "2.5.4.12=#0c024472,2.5.4.5=#130137"),
    ((attribute(SURNAME, "é" * 70),), "2.5.4.4=#0c818c" + 70 * "c3a9"),
    ((attribute(LARGE, ""),), "2.999.4294967295.1=#0c00"),
    ((attribute(CN, "Tkac, Adam"),), "CN=Tkac\\, Adam"),
    ((attribute(CN, ',=+<>#;"\\'),), 'CN=\\,\\=\\+\\<\\>\\#\\;\\"\\\\'),
    ((attribute(CN, "a#b=c/d*e@f:g'h(i)j.k-l?m"),), "CN=a\\#b\\=c/d*e@f:g'h(i)j.k-l?m"),
    ((attribute(CN, ""), attribute(O, " ")), "O=\\ ,CN="),
    ((attribute(CN, "  a  b  "),), "CN=\\ \\ a  b\\ \\ "),
    ((attribute(CN, "\r a\r\n \r"),), "CN=\\\r\\ a\r\n\\ \\\r"),
    ((attribute(CN, "\ta\n"),), "CN=\ta\n"),
    ((attribute(CN, " \0 "),), "CN=\\ \\00\\ "),
    ((attribute(CN, "Größe 中 😀 \x7f\x01"),), "CN=Größe 中 😀 \x7f\x01"),
    ((attribute(CN, b"M\xfcller", T61),), "CN=M\ufffdller"),
    ((attribute(CN, b"a\xff\xe4\xb8b\xc0\x80", UTF8),), "CN=a\ufffd\ufffdb\ufffd\ufffd"),
    ((attribute(CN, "ab".encode("utf-16-be"), BMP),), "CN=\\00a\\00b"),
    ((attribute(CN, "g", GENERAL), attribute(CN, "i", IA5)), "CN=i,CN=g"),
    ((attribute(CN, "12", NUMERIC), attribute(CN, b"\0\0\0a", UNIVERSAL)), "CN=#1c0400000061,CN=#12023132"),
    ((attribute(CN, b"\5", INTEGER),), "CN=#020105"),
    ((attribute(O, 200 * "x"),), "O=" + 200 * "x"),
]


@pytest.mark.parametrize(("names", "expected"), JAVA)
@pytest.mark.parametrize("version", [b"", der(VERSION, der(INTEGER, b"\2"))])
def test_a_name_is_written_as_java_writes_it(names: tuple[bytes, ...], expected: str, version: bytes) -> None:
    assert principal_name(certificate(*names, version=version)) == expected


def test_the_name_of_an_issued_certificate_is_read(tmp_path: Path) -> None:
    issued = Authority(tmp_path).issue("Duke, J", organization="Org")
    assert principal_name(issued.certificate.public_bytes(Encoding.DER)) == "CN=Duke\\, J,O=Org"


def test_both_forms_of_a_time_are_read() -> None:
    times = read_certificate(certificate())
    assert (times.not_before_ms, times.not_after_ms) == (2524607999000, 2524608000000)


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"\x30",
        b"\x30\x05\0",
        b"\x30\x80\0\0",
        b"\x30\x84\x01",
        der(SEQUENCE),
        der(SEQUENCE, der(SEQUENCE)),
        certificate(attribute(CN, "a"))[:-1],
        certificate(attribute(CN, "a")) + b"\0",
        certificate(der(SEQUENCE, CN)),
        certificate(attribute(b"\x06\0", "a")),
        certificate(attribute(b"\x06\x01\x80", "a")),
        certificate(attribute(der(0x06, 5000 * b"\x7f"), "a")),
        certificate(attribute(CN, "a", 0x1F)),
        certificate(attribute(CN, "a"), end=b"20500101"),
    ],
)
def test_a_broken_certificate_is_a_value_error(broken: bytes) -> None:
    with pytest.raises(ValueError):
        principal_name(broken)


@given(st.data())
def test_any_change_of_a_certificate_gives_a_name_or_a_value_error(data: st.DataObject) -> None:
    content = bytearray(certificate(attribute(CN, "a") + attribute(EMAIL, "b", IA5), attribute(LARGE, "c")))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        principal_name(bytes(content))


@pytest.mark.parametrize(
    ("content", "expected"), [(b"\x2a", "1.2"), (b"\x27", "0.39"), (b"\x78\x81\0", "2.40.128"), (b"\x88\x37", "2.999")]
)
def test_object_identifiers_are_read(content: bytes, expected: str) -> None:
    assert object_identifier(content) == expected


def test_elements_are_read_with_their_encoding() -> None:
    assert [tuple(each) for each in elements(b"\x05\0\x0c\x81\x01a")] == [
        (5, b"", b"\5\0"),
        (12, b"a", b"\x0c\x81\x01a"),
    ]
