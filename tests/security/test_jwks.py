"""The key set of an issuer: what is taken from it, when it is read again, and an issuer that is gone."""

from __future__ import annotations

import json
import logging
import sys
import threading
from pathlib import Path

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.security.jwks import MAX_BYTES, MAX_KEYS, Jwks, JwksError, fetch_url, parse_jwks
from tests.support.tokens import JwksEndpoint, TokenIssuer, private_key, public_jwk

URL = "http://issuer.example/jwks.json?secret=1"


class Issuer:
    """Answers `fetch` with `answer`, at the time `now`."""

    def __init__(self) -> None:
        self.answer: bytes | Exception = TokenIssuer({"one": "ES256"}).jwks()
        self.fetches = 0
        self.now = 1000.0
        self.jwks = Jwks(
            URL,
            refresh_ms=3_600_000,
            retry_backoff_ms=125,
            retry_backoff_max_ms=10_000,
            fetch=self.fetch,
            monotonic=lambda: self.now,
        )

    def fetch(self, url: str) -> bytes:
        assert url == URL
        self.fetches += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


def of(*keys: object) -> bytes:
    return json.dumps({"keys": keys}).encode()


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "ES384", "ES512", "EdDSA"])
def test_a_key_checks_the_algorithms_of_its_type(algorithm: str) -> None:
    expected = {"RS256": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")}.get(algorithm, (algorithm,))
    assert parse_jwks(of(public_jwk(algorithm, kid="a")))["a"].algorithms == expected


def test_a_key_that_names_its_algorithm_checks_no_other() -> None:
    assert parse_jwks(of(public_jwk("RS256", alg="PS384", kid="a")))["a"].algorithms == ("PS384",)


@pytest.mark.parametrize(
    "jwk",
    [
        public_jwk("RS256", use="enc"),
        public_jwk("RS256", alg="RSA-OAEP"),
        public_jwk("RS256", alg="HS256"),
        public_jwk("RS256", key_ops=["sign"]),
        public_jwk("RS256", kid=7),
        jwt.get_algorithm_by_name("ES256").to_jwk(private_key("ES256"), as_dict=True),
        public_jwk("ES256", crv="P-384"),
        {"kty": "RSA", "e": "AQAB", "n": "8" * 171},  # 1024 bits
        {"kty": "RSA", "e": "AQAB", "n": 5},
        {"kty": ["RSA"]},
        {"kty": "oct", "k": "c2VjcmV0"},
        {},
        "RSA",
    ],
)
def test_a_key_that_cannot_check_signatures_is_left_out(jwk: object) -> None:
    assert list(parse_jwks(of(jwk, public_jwk("ES256", kid="good")))) == ["good"]


def test_the_first_of_keys_with_the_same_id_is_taken() -> None:
    keys = parse_jwks(of(public_jwk("ES256", kid="a"), public_jwk("ES384", kid="a")))
    assert keys["a"].algorithms == ("ES256",)


@pytest.mark.parametrize("document", [b"", b"<html>", b"\xff", b"[]", b"{}", b'{"keys": {}}', b"[" * 100_000])
def test_a_document_that_is_no_jwks_is_refused(document: bytes) -> None:
    with pytest.raises(ValueError, match="it is not a JWKS"):
        parse_jwks(document)


def test_a_document_with_too_many_keys_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 1000 keys"):
        parse_jwks(of(*[{}] * (MAX_KEYS + 1)))


MEMBERS = st.sampled_from(["kty", "crv", "alg", "use", "key_ops", "kid", "n", "e", "x", "y", "d"])
WORDS = st.sampled_from(["RSA", "EC", "OKP", "P-256", "Ed25519", "ES256", "RS256", "sig", "verify", "AQAB"])
VALUES = WORDS | st.none() | st.integers() | st.text(max_size=5) | st.lists(WORDS, max_size=2)


@given(st.lists(st.dictionaries(MEMBERS, VALUES), max_size=3))
def test_any_members_of_keys_are_read_or_left_out(keys: list[object]) -> None:
    parse_jwks(of(*keys))


def test_a_token_without_key_id_means_the_only_key(issuer: Issuer) -> None:
    issuer.jwks.load()
    assert issuer.jwks.key(None) is issuer.jwks.key("one") is not None
    issuer.now += 1
    issuer.answer = TokenIssuer({"one": "ES256", "two": "ES384"}).jwks()
    issuer.jwks.refresh()
    assert issuer.jwks.key(None) is None


def test_reads_that_follow_each_other_wait_longer_and_longer(issuer: Issuer) -> None:
    issuer.jwks.load()
    times = []
    for tick in range(1, 270):  # for 50 s
        issuer.now += 0.1875
        fetches = issuer.fetches
        issuer.jwks.refresh()
        times += [tick * 0.1875] * (issuer.fetches - fetches)
    assert times == [0.1875, 0.5625, 1.125, 2.25, 4.3125, 8.4375, 16.5, 26.625, 36.75, 46.875]
    issuer.now += 21
    issuer.jwks.refresh()
    issuer.now += 0.125
    assert issuer.jwks.may_refresh()


def test_keys_are_stale_after_the_refresh_time_and_not_at_once_after_a_failure(issuer: Issuer) -> None:
    issuer.jwks.load()
    issuer.now += 3599
    assert not issuer.jwks.is_stale()
    issuer.now += 1
    assert issuer.jwks.is_stale()
    issuer.answer = ConnectionRefusedError(111, "Connection refused")
    issuer.jwks.refresh()
    assert not issuer.jwks.is_stale()
    issuer.now += 0.2
    assert issuer.jwks.is_stale()
    issuer.answer = TokenIssuer({"one": "ES256"}).jwks()
    issuer.jwks.refresh()
    issuer.now += 3599
    assert not issuer.jwks.is_stale()


def test_an_issuer_that_is_gone_at_the_start_is_one_sentence(issuer: Issuer) -> None:
    issuer.answer = ConnectionRefusedError(111, "Connection refused")
    with pytest.raises(JwksError) as raised:
        issuer.jwks.load()
    assert str(raised.value) == (
        "sasl.oauthbearer.jwks.endpoint.url: http://issuer.example/jwks.json cannot be read (connection refused); "
        "correct the address, or start the server that it names"
    )


def test_keys_stay_while_the_issuer_is_gone_and_it_is_logged_once(
    issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "coordinator.security")
    issuer.jwks.load()
    for answer in (TimeoutError("timed out"), b"<html>", OSError("it answers with status 503")):
        issuer.answer = answer
        issuer.now += 30
        issuer.jwks.refresh()
        assert issuer.jwks.key("one") is not None
    issuer.answer = TokenIssuer({"two": "ES256"}).jwks()
    issuer.now += 30
    issuer.jwks.refresh()
    assert issuer.jwks.key("one") is None
    assert issuer.jwks.key("two") is not None
    gone, back = caplog.messages
    assert "jwks.json cannot be read (timed out)" in gone
    assert gone.endswith("(it will be tried again; keys in use: 1)")
    assert back.endswith("can be read again; keys in use: 1")


def test_keys_that_the_issuer_withdraws_are_not_used_any_more(issuer: Issuer) -> None:
    issuer.jwks.load()
    issuer.answer = of()
    issuer.now += 1
    issuer.jwks.refresh()
    assert issuer.jwks.key("one") is None


def test_a_key_set_without_a_usable_key_stops_the_start(issuer: Issuer) -> None:
    issuer.answer = of(public_jwk("RS256", use="enc"))
    with pytest.raises(JwksError, match="has no public key for signatures"):
        issuer.jwks.load()


def test_threads_that_ask_at_once_share_one_read(issuer: Issuer) -> None:
    issuer.jwks.load()
    issuer.now += 30
    threads = [threading.Thread(target=issuer.jwks.refresh) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert issuer.fetches == 2


@pytest.mark.parametrize(
    "url",
    [
        "",
        "jwks.json",
        "/etc/jwks.json",
        "ftp://issuer.example/jwks.json",
        "http://",
        "http:///jwks.json",
        "http://issuer.example:port/",
        "http://[::1/",
        "http://issuer.example/a b",
        "https://user:password@issuer.example/",
        "https://user:pass/word@issuer.example/",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(JwksError, match=r"sasl\.oauthbearer\.jwks\.endpoint\.url") as raised:
        Jwks(url, refresh_ms=1, retry_backoff_ms=1, retry_backoff_max_ms=1)
    assert "password" not in str(raised.value).replace("or a password", "")


def test_without_pyjwt_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jwt", None)
    with pytest.raises(JwksError, match=r"pip install 'kafka-group-coordinator\[security\]'"):
        Issuer()


def test_a_document_is_fetched_from_a_server_and_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_bytes(b"from a file")
    assert fetch_url(path.as_uri()) == fetch_url(f"file:{path}") == b"from a file"
    with JwksEndpoint(b"from a server") as endpoint:
        assert fetch_url(endpoint.url) == b"from a server"
        assert endpoint.seen == ["/jwks.json"]


def test_a_redirect_to_the_same_scheme_is_followed_and_to_another_one_is_not() -> None:
    with JwksEndpoint(b"keys") as target, JwksEndpoint(b"") as endpoint:
        endpoint.status, endpoint.location = 302, target.url
        assert fetch_url(endpoint.url) == b"keys"
        endpoint.location = target.url.replace("http:", "ftp:")
        with pytest.raises(OSError, match="it redirects to another scheme"):
            fetch_url(endpoint.url)


def test_answers_that_are_no_document_are_refused(tmp_path: Path) -> None:
    with JwksEndpoint(b"x" * (MAX_BYTES + 1)) as endpoint:
        with pytest.raises(ValueError, match="more than 1048576 bytes"):
            fetch_url(endpoint.url)
        endpoint.status = 404
        with pytest.raises(OSError, match="it answers with status 404"):
            fetch_url(endpoint.url)
    with pytest.raises(OSError, match="refused"):
        fetch_url(endpoint.url)
    with pytest.raises(OSError, match="No such file"):
        fetch_url((tmp_path / "gone").as_uri())
