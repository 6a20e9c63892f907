"""Access tokens: signed JWTs (RFC 7519), checked with the keys of their issuer.

Tokens without a signature, and tokens with a symmetric one, are always refused. Source: Kafka's `BrokerJwtValidator`
(before 4.1 `ValidatorAccessTokenValidator`) with `ClaimValidationUtils`, and jose4j's `NumericDateValidator` and
`AudValidator`. As there, a string in the claim of the scopes is one scope.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.security.jwks import ALGORITHMS
from coordinator.security.sasl_server import SaslError

if TYPE_CHECKING:
    from coordinator.security.jwks import Jwks, VerificationKey

MAX_TOKEN_CHARS: Final = 1 << 15  # the event loop decodes it; HTTP servers take no headers of this size
MAX_SECONDS: Final = (2**63 - 1) // 1000  # of a time that fits into Kafka's milliseconds
_ASYMMETRIC: Final = tuple(dict.fromkeys(name for names in ALGORITHMS.values() for name in names))
_JAVA_WHITESPACE: Final = "".join(map(chr, range(0x21)))  # what String.trim removes
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class TokenError(SaslError):
    """A token is refused. The message is for the log, and holds no part of the token but claims and key id."""


class ValidToken(NamedTuple):
    """The claims of a token that was accepted."""

    user: str
    expires_ms: int
    scopes: frozenset[str]


class TokenValidator:
    """Checks tokens by the settings sasl.oauthbearer.*. `now_ms` is the wall clock."""

    def __init__(
        self,
        jwks: Jwks,
        *,
        now_ms: Callable[[], int],
        expected_audience: Collection[str] = (),
        expected_issuer: str = "",
        scope_claim_name: str = "scope",
        sub_claim_name: str = "sub",
        clock_skew_seconds: int = 30,
    ) -> None:
        import jwt  # `Jwks` has reported if it is missing

        self._jwks = jwks
        self._jws = jwt.PyJWS(algorithms=_ASYMMETRIC)
        self._now_ms = now_ms
        self._expected_audience = tuple(expected_audience)
        self._expected_issuer = expected_issuer
        self._scope_claim_name = scope_claim_name
        self._sub_claim_name = sub_claim_name
        self._clock_skew_seconds = clock_skew_seconds

    def validate(self, token: str) -> ValidToken | Callable[[], ValidToken]:
        """Return the claims of a valid token; the rest of the check, which blocks, if its key must be fetched first.

        Both raise TokenError if the token is refused.
        """
        kid = self._kid(token)
        key = self._jwks.key(kid)
        if key is not None:
            return self._check(token, key)
        if not self._jwks.may_refresh():
            raise _unknown_key(kid)
        return partial(self._fetch_and_check, token, kid)

    def _fetch_and_check(self, token: str, kid: str | None) -> ValidToken:
        self._jwks.refresh()
        key = self._jwks.key(kid)
        if key is None:
            raise _unknown_key(kid)
        return self._check(token, key)

    def _kid(self, token: str) -> str | None:
        import jwt

        if len(token) > MAX_TOKEN_CHARS:
            raise TokenError(f"the token has more than {MAX_TOKEN_CHARS} characters; have it issued with fewer claims")
        try:
            header = self._jws.get_unverified_header(token)
        except (jwt.PyJWTError, RecursionError):
            raise TokenError("the token is not a signed JWT (RFC 7519); have the client send one") from None
        if header.get("alg") not in _ASYMMETRIC or "crit" in header:
            raise TokenError(
                f"the token is not signed in a way that is supported; have it signed with one of "
                f"{', '.join(_ASYMMETRIC)}, and without the header crit"
            )
        kid: str | None = header.get("kid")
        return kid

    def _check(self, token: str, key: VerificationKey) -> ValidToken:
        import jwt

        try:
            claims = json.loads(self._jws.decode(token, key.key, key.algorithms))
        except jwt.PyJWTError:
            raise TokenError(
                "the token is not signed with the key and algorithm that it names; ask its issuer"
            ) from None
        except (ValueError, RecursionError):
            claims = None
        if not isinstance(claims, dict):
            raise TokenError("the claims of the token are not a JSON object; ask its issuer")
        expires_s = self._check_times(claims)
        self._check_audience(claims.get("aud"))
        issuer = claims.get("iss")
        if self._expected_issuer and issuer != self._expected_issuer:
            raise TokenError(
                f"the token is from the issuer {_shown(issuer)}, and not from sasl.oauthbearer.expected.issuer; "
                "have it issued by that one, or correct the setting"
            )
        user = _text(claims.get(self._sub_claim_name), self._sub_claim_name)
        return ValidToken(user, expires_s * 1000, self._scopes(claims.get(self._scope_claim_name)))

    def _check_times(self, claims: dict[str, Any]) -> int:
        """Return the time of expiry in seconds."""
        expires_s, issued_s, not_before_s = (_seconds(claims, name) for name in ("exp", "iat", "nbf"))
        now_s = self._now_ms() // 1000
        if expires_s is None:
            raise TokenError("the token has no time of expiry; have it issued with the claim exp")
        if now_s - self._clock_skew_seconds >= expires_s:
            raise TokenError(
                f"the token expired {now_s - expires_s} s ago; have the client get a new one, and compare the clocks"
            )
        if expires_s < max(issued_s or 0, not_before_s or 0):
            raise TokenError("the token expires before its validity begins (claims exp, iat, nbf); ask its issuer")
        if not_before_s is not None and now_s + self._clock_skew_seconds < not_before_s:
            raise TokenError(f"the token is not valid for another {not_before_s - now_s} s; compare the clocks")
        return expires_s

    def _check_audience(self, audience: object) -> None:
        if not self._expected_audience:
            return
        names = audience if isinstance(audience, list) else [audience]
        if not any(name in self._expected_audience for name in names):
            raise TokenError(
                f"the token is for the audience {_shown(audience)}, which is not in "
                "sasl.oauthbearer.expected.audience; have it issued for one of these, or add it"
            )

    def _scopes(self, claim: object) -> frozenset[str]:
        listed = claim if isinstance(claim, list) else [claim] if isinstance(claim, str) else []
        scopes = frozenset(_text(scope, self._scope_claim_name) for scope in listed)
        if len(scopes) < len(listed):
            raise TokenError(f"the claim {self._scope_claim_name} of the token has a scope twice; ask its issuer")
        return scopes


def _seconds(claims: dict[str, Any], name: str) -> int | None:
    seconds = claims.get(name)
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= MAX_SECONDS:
        raise TokenError(f"the claim {name} of the token is not a time in seconds since the epoch; ask its issuer")
    return int(seconds)


def _text(claim: object, name: str) -> str:
    text = claim.strip(_JAVA_WHITESPACE) if isinstance(claim, str) else ""
    if not text or _SURROGATE.search(text):
        raise TokenError(f"the claim {name} of the token is missing, empty, or not text; ask its issuer")
    return text


def _shown(claim: object) -> str:
    return f"{claim!r:.100}"


def _unknown_key(kid: str | None) -> TokenError:
    return TokenError(
        f"the token is signed with the key {_shown(kid)}, which is not in the JWKS; compare "
        "sasl.oauthbearer.jwks.endpoint.url with the issuer of the token"
    )
