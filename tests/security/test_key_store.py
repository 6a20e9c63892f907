"""Key stores and trust stores: which can be used, and the exact sentence for each that cannot."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from coordinator.security.key_store import Material, read_material
from coordinator.security.tls import server_context
from coordinator.security.tls_settings import TlsError, TlsSettings
from tests.support.certificates import Authority, Issued

PASSWORD = "correct horse"
ENCRYPTION = BestAvailableEncryption(PASSWORD.encode())
DAY_MS = 24 * 3600 * 1000
OLD_FORM = b"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END EC PRIVATE KEY-----\n"


class Issuers:
    """A root, an authority below it, and a certificate of each."""

    def __init__(self, directory: Path) -> None:
        self.root = Authority(directory, "root")
        self.below = Authority(directory, "below", self.root)
        self.node: Issued = self.below.issue("node", days=3)
        self.other: Issued = self.root.issue("other")


@pytest.fixture(scope="module")
def issuers(tmp_path_factory: pytest.TempPathFactory) -> Issuers:
    return Issuers(tmp_path_factory.mktemp("issuers"))


@pytest.fixture(scope="module")
def names(issuers: Issuers, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Paths of stores, and texts of PEM, under names for the tables."""
    node = issuers.node
    key, chain = node.key_pem.read_bytes(), node.certificate_pem.read_bytes()
    rsa_key = rsa.generate_private_key(65537, 1024)
    certificates = [pkcs12.PKCS12Certificate(each.certificate, None) for each in (issuers.root, issuers.other)]
    unordered = [issuers.other.certificate, issuers.root.certificate, issuers.below.certificate]
    contents = {
        "whole": node.pem.read_bytes(),
        "turned": b"\xc3\xa9: a remark\n" + chain + b"Bag Attributes: -\n" + key,
        "encrypted": node.encrypted(PASSWORD).read_bytes(),
        "p12": node.pkcs12(PASSWORD).read_bytes(),
        "unordered": pkcs12.serialize_key_and_certificates(
            b"node", node.private_key, node.certificate, unordered, ENCRYPTION
        ),
        "trust": pkcs12.serialize_java_truststore(certificates, ENCRYPTION),
        "empty": b"",
        "prose": b"nothing\n",
        "key_alone": key,
        "chain_alone": chain,
        "two_keys": node.pem.read_bytes() + key,
        "misfit": issuers.other.key_pem.read_bytes() + chain,
        "other_kind": rsa_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + chain,
        "old_form": OLD_FORM + chain,
        "cut": node.pem.read_bytes()[:-20],
        "jks": b"\xfe\xed\xfe\xed\0\0\0\2",
    }
    directory = tmp_path_factory.mktemp("stores")
    for name, content in contents.items():
        (directory / name).write_bytes(content)
    paths = {name: str(directory / name) for name in contents}
    return paths | {"key_text": key.decode(), "chain_text": chain.decode()}


def load(fields: dict[str, str], names: dict[str, str]) -> Material:
    settings = TlsSettings(**{name: text.format(**names) for name, text in fields.items()})  # type: ignore[arg-type]
    material = read_material(settings)
    server_context(material, settings)
    return material


def p12(name: str, type_name: str = "PKCS12") -> dict[str, str]:
    return {"keystore_type": type_name, "keystore_location": f"{{{name}}}", "keystore_password": PASSWORD}


@pytest.mark.parametrize(
    "fields",
    [
        {"keystore_location": "{whole}"},
        {"keystore_location": "{whole}", "key_password": "not needed"},
        {"keystore_location": "{turned}"},
        {"keystore_location": "{encrypted}", "key_password": PASSWORD},
        {"keystore_key": "{key_text}", "keystore_certificate_chain": "{chain_text}"},
        p12("p12"),
        p12("p12", "JKS"),
    ],
)
def test_a_good_key_store_gives_the_chain(fields: dict[str, str], names: dict[str, str], issuers: Issuers) -> None:
    assert load(fields, names).chain == issuers.node.certificate_pem.read_text()


def test_pem_can_stand_in_one_line(names: dict[str, str], issuers: Issuers) -> None:
    fields = {"keystore_key": "{key_text}", "keystore_certificate_chain": "{chain_text}"}
    one_line = {name: text.replace("\n", " ").strip() for name, text in names.items()}
    assert load(fields, one_line).chain == issuers.node.certificate_pem.read_text()


def test_the_chain_of_a_pkcs12_store_goes_from_the_certificate_to_its_root(
    names: dict[str, str], issuers: Issuers
) -> None:
    chain = load(p12("unordered"), names).chain
    assert chain == issuers.node.certificate_pem.read_text() + issuers.root.pem.read_text()


def test_each_certificate_of_a_pkcs12_trust_store_is_trusted(names: dict[str, str], issuers: Issuers) -> None:
    settings = TlsSettings(truststore_type="PKCS12", truststore_location=names["trust"], truststore_password=PASSWORD)
    trusted = read_material(settings).trusted
    assert trusted == issuers.root.pem.read_text() + issuers.other.certificate_pem.read_text()


NO_CERTIFICATE = "there is no certificate in it; add one, or correct {0}.type if the store is not {1}"
ONE_KEY = "private keys are in it; give exactly one, which in PEM begins with -----BEGIN PRIVATE KEY-----"
MISFIT = "the key does not fit its certificate; put the certificate of the key before the others"
WRONG_PASSWORD = "ssl.key.password does not decrypt the private key in it; correct it"
DAMAGED = (
    "a key or certificate in it is damaged, or a key is not PKCS #8; write it anew (openssl pkcs8 -topk8 converts a "
    "key)"
)
NOT_OPENED = "the file is not a PKCS12 store, or ssl.keystore.password does not open it; correct one of them"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "ssl.keystore.location is not set, but a TLS listener needs a certificate; set it"),
        (
            {"keystore_location": "/no/such"},
            "ssl.keystore.location /no/such: the file cannot be read (No such file or directory); correct the path or "
            "its permissions",
        ),
        (
            {"truststore_location": "/"},
            "ssl.truststore.location /: the file cannot be read (Is a directory); correct the path or its permissions",
        ),
        ({"keystore_type": "BKS"}, "ssl.keystore.type 'BKS' is unknown; write PEM or PKCS12"),
        (
            {"keystore_location": "{empty}"},
            f"ssl.keystore.location {{empty}}: {NO_CERTIFICATE.format('ssl.keystore', 'PEM')}",
        ),
        (
            {"truststore_location": "{prose}"},
            f"ssl.truststore.location {{prose}}: {NO_CERTIFICATE.format('ssl.truststore', 'PEM')}",
        ),
        (
            {"keystore_location": "{p12}"},
            f"ssl.keystore.location {{p12}}: {NO_CERTIFICATE.format('ssl.keystore', 'PEM')}",
        ),
        (
            {"keystore_location": "{key_alone}"},
            f"ssl.keystore.location {{key_alone}}: {NO_CERTIFICATE.format('ssl.keystore', 'PEM')}",
        ),
        ({"keystore_key": "{key_text}"}, f"ssl.keystore.key: {NO_CERTIFICATE.format('ssl.keystore', 'PEM')}"),
        ({"keystore_location": "{chain_alone}"}, f"ssl.keystore.location {{chain_alone}}: 0 {ONE_KEY}"),
        ({"keystore_certificate_chain": "{chain_text}"}, f"ssl.keystore.certificate.chain: 0 {ONE_KEY}"),
        ({"keystore_location": "{two_keys}"}, f"ssl.keystore.location {{two_keys}}: 2 {ONE_KEY}"),
        ({"keystore_location": "{misfit}"}, f"ssl.keystore.location {{misfit}}: {MISFIT}"),
        ({"keystore_location": "{other_kind}"}, f"ssl.keystore.location {{other_kind}}: {MISFIT}"),
        (
            {"keystore_location": "{encrypted}"},
            "ssl.keystore.location {encrypted}: the private key in it is encrypted; set ssl.key.password",
        ),
        (
            {"keystore_location": "{encrypted}", "key_password": "wrong"},
            f"ssl.keystore.location {{encrypted}}: {WRONG_PASSWORD}",
        ),
        (
            {"keystore_location": "{encrypted}", "key_password": 2000 * "x"},
            f"ssl.keystore.location {{encrypted}}: {WRONG_PASSWORD}",
        ),
        (
            {
                "keystore_key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
                "keystore_certificate_chain": "{chain_text}",
            },
            "ssl.keystore.key: the private key in it is damaged; write it anew as PKCS #8",
        ),
        ({"keystore_location": "{old_form}"}, f"ssl.keystore.location {{old_form}}: {DAMAGED}"),
        ({"keystore_location": "{cut}"}, f"ssl.keystore.location {{cut}}: {DAMAGED}"),
        (
            {"truststore_certificates": "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----"},
            f"ssl.truststore.certificates: {DAMAGED}",
        ),
        (
            {"truststore_certificates": "-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----"},
            "ssl.truststore.certificates: a certificate in it is damaged; write the store anew",
        ),
        (
            {"keystore_location": "{whole}", "keystore_password": PASSWORD},
            "ssl.keystore.password is set, but a store of the type PEM has none; set ssl.keystore.type=PKCS12 if it is "
            "one, or remove the password (that of an encrypted key is ssl.key.password)",
        ),
        (
            {"truststore_type": "PKCS12", "truststore_password": PASSWORD},
            "ssl.truststore.password is set, but ssl.truststore.location is not; set both or none",
        ),
        (
            {"truststore_location": "{whole}", "truststore_certificates": "{chain_text}"},
            "ssl.truststore.certificates stands in place of ssl.truststore.location, and needs ssl.truststore.type=PEM;"
            " remove one of them",
        ),
        (
            {"keystore_type": "PKCS12", "keystore_key": "{key_text}"},
            "ssl.keystore.key stands in place of ssl.keystore.location, and needs ssl.keystore.type=PEM; remove one of "
            "them",
        ),
        (p12("p12") | {"keystore_password": "wrong"}, f"ssl.keystore.location {{p12}}: {NOT_OPENED}"),
        (p12("whole"), f"ssl.keystore.location {{whole}}: {NOT_OPENED}"),
        (p12("trust"), f"ssl.keystore.location {{trust}}: 0 {ONE_KEY}"),
        (
            p12("jks", "JKS"),
            "ssl.keystore.location {jks}: only Java reads a JKS store; convert it by keytool -importkeystore "
            "-srckeystore {jks} -destkeystore {jks}.p12 -deststoretype PKCS12, and set ssl.keystore.location={jks}.p12 "
            "and ssl.keystore.type=PKCS12",
        ),
    ],
)
def test_a_bad_store_is_refused_with_one_sentence(fields: dict[str, str], sentence: str, names: dict[str, str]) -> None:
    with pytest.raises(TlsError) as caught:
        load(fields, names)
    assert str(caught.value) == sentence.format(**names)


def test_a_pkcs12_store_without_its_package_is_refused(names: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "coordinator.security.pkcs12", None)
    with pytest.raises(TlsError) as caught:
        load(p12("p12"), names)
    assert str(caught.value) == (
        f"ssl.keystore.location {names['p12']}: a PKCS12 store needs a package that is not installed; use PEM, or run "
        "pip install 'kafka-group-coordinator[security]'"
    )


def test_a_weak_certificate_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ec, "generate_private_key", lambda curve: rsa.generate_private_key(65537, 1024))
    weak = Authority(tmp_path).issue("weak")
    with pytest.raises(TlsError) as caught:
        load({"keystore_location": str(weak.pem)}, {})
    assert str(caught.value) == (
        f"ssl.keystore.location {weak.pem}: a certificate in it is too weak (EE_KEY_TOO_SMALL); have a stronger one "
        "issued"
    )


def test_the_earliest_end_of_the_chain_is_told(issuers: Issuers) -> None:
    material = read_material(TlsSettings(keystore_location=str(issuers.node.pem)))
    certificate, below = issuers.node.certificate, issuers.below.certificate
    assert material.not_before_ms == certificate.not_valid_before_utc.timestamp() * 1000
    assert material.not_after_ms == certificate.not_valid_after_utc.timestamp() * 1000
    assert material.not_after_ms - material.not_before_ms == 3 * DAY_MS
    assert below.not_valid_after_utc > certificate.not_valid_after_utc


def test_an_expired_certificate_of_our_own_is_loaded(issuers: Issuers) -> None:
    old = issuers.root.issue("old", expired=True)
    assert load({"keystore_location": str(old.pem)}, {}).not_after_ms < time.time() * 1000


def test_the_fingerprint_follows_the_contents_and_not_the_files(issuers: Issuers, tmp_path: Path) -> None:
    settings = TlsSettings(keystore_location=str(issuers.node.pem), truststore_location=str(issuers.root.pem))
    first = read_material(settings).fingerprint
    copy = tmp_path / "copy.pem"
    copy.write_bytes(b"# a copy\n" + issuers.node.pem.read_bytes())
    assert read_material(settings._replace(keystore_location=str(copy))).fingerprint == first
    assert read_material(settings._replace(keystore_location=str(issuers.other.pem))).fingerprint != first
    assert read_material(settings._replace(truststore_location=str(issuers.below.pem))).fingerprint != first


def test_no_text_of_settings_or_material_has_a_secret(issuers: Issuers) -> None:
    key = issuers.node.key_pem.read_text()
    settings = TlsSettings(keystore_key=key, keystore_certificate_chain=issuers.node.certificate_pem.read_text())
    shown = f"{settings} {settings._replace(key_password=PASSWORD)!r} {read_material(settings)}"
    assert PASSWORD not in shown
    assert key[40:60] not in shown
