"""Access tokens: the table of good and bad ones, and keys that must be fetched first."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from coordinator.security.jwks import Jwks
from coordinator.security.token_validator import MAX_TOKEN_CHARS, TokenError, TokenValidator, ValidToken
from tests.support.clock import FIRST_WALL_MS
from tests.support.tokens import ISSUER, TokenIssuer, private_key, public_jwk

NOW = FIRST_WALL_MS // 1000
KEYS = {"rsa": "RS256", "pss": "PS512", "ec": "ES256", "ec384": "ES384", "ec512": "ES512", "ed": "EdDSA"}


class World:
    """A validator, and the issuer whose keys it fetches."""

    def __init__(self, **settings: Any) -> None:
        self.issuer = TokenIssuer(KEYS, now_s=lambda: NOW)
        self.fetches = 0
        self.now = 0.0
        self.jwks = Jwks(
            "http://issuer.example/",
            refresh_ms=3_600_000,
            retry_backoff_ms=100,
            retry_backoff_max_ms=10_000,
            fetch=self._fetch,
            monotonic=lambda: self.now,
        )
        self.jwks.load()
        self.validator = TokenValidator(self.jwks, now_ms=lambda: FIRST_WALL_MS, **settings)

    def _fetch(self, _: str) -> bytes:
        self.fetches += 1
        return self.issuer.jwks()

    def validate(self, token: str) -> ValidToken:
        found = self.validator.validate(token)
        assert isinstance(found, ValidToken)
        return found

    def refusal(self, token: str) -> str:
        with pytest.raises(TokenError) as raised:
            self.validate(token)
        assert not [part for part in token.split(".") if len(part) > 4 and part in str(raised.value)]
        return str(raised.value)


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(("kid", "algorithm"), [*KEYS.items(), ("rsa", "RS384"), ("rsa", "RS512"), ("rsa", "PS256")])
def test_a_token_with_an_asymmetric_signature_is_valid(world: World, kid: str, algorithm: str) -> None:
    token = world.issuer.token("alice", kid=kid, algorithm=algorithm, exp=NOW + 60, scope="read")
    assert world.validate(token) == ValidToken("alice", (NOW + 60) * 1000, frozenset(["read"]))


CLAIMS_OF_VALID_TOKENS: list[dict[str, Any]] = [
    {"exp": NOW - 29, "iat": NOW - 60},  # the skew is 30 s
    {"exp": NOW + 0.5, "iat": NOW + 0.9},
    {"nbf": NOW + 30},
    {"nbf": NOW, "iat": None},
    {"iat": NOW + 3600},
    {"aud": None, "iss": None},
    {"scope": {"a": 1}},
]


@pytest.mark.parametrize("claims", CLAIMS_OF_VALID_TOKENS)
def test_a_token_is_valid_with(world: World, claims: dict[str, Any]) -> None:
    assert world.validate(world.issuer.token("alice", **claims)).user == "alice"


REFUSED_CLAIMS: list[tuple[str, dict[str, Any]]] = [
    ("expired 30 s ago", {"exp": NOW - 30}),
    ("no time of expiry", {"exp": None}),
    ("claim exp .* is not a time", {"exp": str(NOW + 60)}),
    ("claim exp .* is not a time", {"exp": True}),
    ("claim exp .* is not a time", {"exp": float("nan")}),
    ("claim exp .* is not a time", {"exp": float("inf")}),
    ("claim exp .* is not a time", {"exp": 2**63 // 1000 + 1}),
    ("claim iat .* is not a time", {"iat": -1}),
    ("claim nbf .* is not a time", {"nbf": [NOW]}),
    ("not valid for another 31 s", {"nbf": NOW + 31}),
    ("expires before", {"nbf": NOW + 3601}),
    ("expires before", {"iat": NOW + 3601}),
    ("claim sub .* is missing", {"sub": None}),
    ("claim sub .* is missing", {"sub": ""}),
    ("claim sub .* is missing", {"sub": " \t\n"}),
    ("claim sub .* is missing", {"sub": 7}),
    ("claim sub .* is missing", {"sub": "\ud800"}),
    ("claim scope .* is missing", {"scope": ""}),
    ("claim scope .* is missing", {"scope": ["read", None]}),
    ("claim scope .* twice", {"scope": ["read", "read "]}),
]


@pytest.mark.parametrize(("reason", "claims"), REFUSED_CLAIMS)
def test_a_token_is_refused_with(world: World, reason: str, claims: dict[str, Any]) -> None:
    with pytest.raises(TokenError, match=reason):
        world.validate(world.issuer.token(**claims))


def test_white_space_around_names_is_left_out_as_java_does(world: World) -> None:
    token = world.issuer.token(" alice\t", scope=[" read", "write "])
    assert world.validate(token)[::2] == ("alice", frozenset(["read", "write"]))
    assert world.validate(world.issuer.token("\u00a0alice")).user == "\u00a0alice"


def test_a_text_of_scopes_is_one_scope(world: World) -> None:
    assert world.validate(world.issuer.token(scope="read write")).scopes == {"read write"}
    assert world.validate(world.issuer.token()).scopes == frozenset()


@pytest.mark.parametrize(
    ("audience", "is_valid"),
    [("kafka", True), (["web", "kafka"], True), ("web", False), (["web"], False), (None, False), ({"kafka": 1}, False)],
)
def test_an_expected_audience_must_be_in_the_token(audience: object, is_valid: bool) -> None:
    world = World(expected_audience=["other", "kafka"])
    token = world.issuer.token(aud=audience)
    if is_valid:
        world.validate(token)
    else:
        assert "not in sasl.oauthbearer.expected.audience" in world.refusal(token)


def test_an_expected_issuer_must_be_in_the_token() -> None:
    world = World(expected_issuer=ISSUER)
    world.validate(world.issuer.token())
    assert "issuer 'https://issuer.example'" in world.refusal(world.issuer.token(iss=ISSUER.rstrip("/")))
    assert "issuer None" in world.refusal(world.issuer.token(iss=None))


def test_other_claims_may_hold_the_user_and_the_scopes() -> None:
    world = World(sub_claim_name="email", scope_claim_name="roles")
    token = world.issuer.token("alice", email="a@b.example", roles=["admin"], scope="read")
    assert world.validate(token)[::2] == ("a@b.example", frozenset(["admin"]))


def test_the_clock_skew_is_a_setting() -> None:
    world = World(clock_skew_seconds=0)
    world.validate(world.issuer.token(exp=NOW + 1, nbf=NOW))
    world.refusal(world.issuer.token(exp=NOW))
    world.refusal(world.issuer.token(nbf=NOW + 1))


def with_hmac(world: World) -> str:
    """Sign with the text of the public key, which a verifier that trusts the header takes for a secret."""
    secret = private_key("RS256").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    signed = f"{part({'alg': 'HS256', 'kid': 'rsa'})}.{world.issuer.token().split('.')[1]}"
    signature = hmac.digest(secret, signed.encode(), hashlib.sha256)
    return f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def with_header(**members: object) -> Callable[[World], str]:
    def forge(world: World) -> str:
        return ".".join([part({"alg": "RS256", "kid": "rsa", **members}), *world.issuer.token().split(".")[1:]])

    return forge


def with_other_claims(world: World) -> str:
    header, _, signature = world.issuer.token().split(".")
    return f"{header}.{part({'sub': 'root', 'exp': NOW + 60})}.{signature}"


FORGED: dict[str, tuple[str, Callable[[World], str]]] = {
    "alg none": ("not signed in a way", lambda world: f"{with_header(alg='none')(world).rpartition('.')[0]}."),
    "alg none with a signature": ("not signed in a way", with_header(alg="none")),
    "alg None": ("not signed in a way", with_header(alg=None)),
    "alg a list": ("not signed in a way", with_header(alg=["RS256"])),
    "HS256 with the public key": ("not signed in a way", with_hmac),
    "crit": ("not signed in a way", with_header(crit=["b64"], b64=True)),
    "kid of another key": ("not signed with the key", with_header(kid="ec")),
    "alg of another key": ("not signed with the key", with_header(alg="ES256")),
    "header replaced": ("not signed with the key", with_header(typ="JWT")),
    "claims replaced": ("not signed with the key", with_other_claims),
    "signature cut": ("not signed with the key", lambda world: world.issuer.token()[:-2]),
    "kid a number": ("not a signed JWT", with_header(kid=7)),
    "two parts": ("not a signed JWT", lambda world: world.issuer.token().rpartition(".")[0]),
    "four parts": ("not a signed JWT", lambda world: f"{world.issuer.token()}.abcd"),
    "garbage": ("not a signed JWT", lambda _: "abc.def.ghi"),
    "deeply nested header": ("not a signed JWT", lambda _: f"{'W1tb' * 5000}.e30.e30"),
    "a password": ("not a signed JWT", lambda _: "secret"),
    "too long": ("more than 32768 characters", lambda _: "a" * (MAX_TOKEN_CHARS + 1)),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_forged_token_is_refused(world: World, forgery: str) -> None:
    reason, forge = FORGED[forgery]
    assert reason in world.refusal(forge(world))
    assert world.fetches == 1


def test_claims_that_are_no_json_object_are_refused(world: World) -> None:
    for payload in (b"[]", b"{", b"[" * 10_000):
        token = world.validator._jws.encode(payload, private_key("RS256"), "RS256", {"kid": "rsa"})
        assert "not a JSON object" in world.refusal(token)


@given(st.from_regex(r"[-_~+/.a-zA-Z0-9]{0,60}=?", fullmatch=True))
def test_any_text_is_refused_with_a_token_error(text: str) -> None:
    with pytest.raises(TokenError):
        SHARED.validate(text)


@given(
    st.dictionaries(
        st.sampled_from(["sub", "exp", "iat", "nbf", "aud", "scope"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text() | st.none()),
    )
)
def test_any_signed_claims_are_accepted_or_refused_with_a_token_error(claims: dict[str, Any]) -> None:
    try:
        token = SHARED.validate(SHARED.issuer.token(kid="ed", **claims))
    except TokenError:
        return
    assert token.user.encode()
    assert NOW - 30 < token.expires_ms / 1000 < 2**63 / 1000


SHARED = World()


def test_a_new_key_is_fetched_once_and_then_known() -> None:
    world = World()
    world.issuer.keys["new"] = "ES256"
    token = world.issuer.token(kid="new")
    world.now += 1
    rest = world.validator.validate(token)
    assert not isinstance(rest, ValidToken)
    assert world.fetches == 1  # only in the thread that calls `rest`
    assert rest().user == "alice"
    assert world.validate(token).user == "alice"
    assert world.fetches == 2


def test_unknown_key_ids_cause_one_fetch_in_the_backoff() -> None:
    world = World()
    world.now += 1
    tokens = [with_header(kid=f"made up {number}")(world) for number in range(50)]
    rest = [world.validator.validate(token) for token in tokens]  # all before the first fetch
    for each in rest:
        assert not isinstance(each, ValidToken)
        with pytest.raises(TokenError, match=r"signed with the key 'made up .*', which is not in the JWKS"):
            each()
    assert world.fetches == 2
    for token in tokens:
        assert "not in the JWKS" in world.refusal(token)
    assert world.fetches == 2


def test_a_key_that_the_issuer_replaced_is_not_accepted_after_the_next_fetch() -> None:
    world = World()
    old = world.issuer.token(kid="rsa")
    world.issuer.keys = {"next": "ES256"}
    world.now += 1
    rest = world.validator.validate(world.issuer.token(kid="next"))
    assert not isinstance(rest, ValidToken)
    assert rest().user == "alice"
    assert "not in the JWKS" in world.refusal(old)


def test_a_key_that_is_listed_for_another_algorithm_is_not_used() -> None:
    world = World()
    world.issuer.jwks = lambda: json.dumps({"keys": [public_jwk("RS256", alg="PS256", kid="rsa")]}).encode()  # type: ignore[method-assign]
    world.now += 1
    world.jwks.refresh()
    world.validate(world.issuer.token(algorithm="PS256"))
    assert "not signed with the key and algorithm" in world.refusal(world.issuer.token())
