"""The public keys that check tokens: a JWKS (RFC 7517), read from a file or from the issuer of the tokens.

`Jwks.key` answers from memory. `Jwks.refresh` blocks, so its caller runs it in a thread. Reads that follow each other
closely wait twice as long each time, from retry.backoff.ms up to retry.backoff.max.ms. Tokens with unknown key ids
cause no more reads than that, and no key id is remembered. Source: Kafka's `RefreshingHttpsJwks`, and jose4j's
`VerificationJwkSelector` for the keys that may be used.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from coordinator.version import install

if TYPE_CHECKING:
    import ssl
    from http.client import HTTPMessage

    from jwt.algorithms import AllowedPublicKeys

LOG: Final = logging.getLogger("coordinator.security")
SETTING: Final = "sasl.oauthbearer.jwks.endpoint.url"
FETCH_TIMEOUT_S: Final = 10  # of each operation on the socket
MAX_BYTES: Final = 1 << 20
MAX_KEYS: Final = 1000
MIN_RSA_BITS: Final = 2048  # RFC 7518, section 3.3

# By the members kty and crv of a key. All are asymmetric.
ALGORITHMS: Final[Mapping[tuple[object, object], tuple[str, ...]]] = {
    ("RSA", None): ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    ("EC", "P-256"): ("ES256",),
    ("EC", "P-384"): ("ES384",),
    ("EC", "P-521"): ("ES512",),
    ("OKP", "Ed25519"): ("EdDSA",),
    ("OKP", "Ed448"): ("EdDSA",),
}
_URL: Final = re.compile(r"(?:https?://[^\s/?#]|file:/)[\x21-\x7e]*", re.IGNORECASE)


class JwksError(Exception):
    """The keys cannot be read. The message is one sentence that says what to do."""


class VerificationKey(NamedTuple):
    """A public key, and the algorithms of the signatures that it may check."""

    key: AllowedPublicKeys
    algorithms: tuple[str, ...]


class Jwks:
    """The keys of one issuer. Any thread may call any method."""

    def __init__(
        self,
        url: str,
        *,
        refresh_ms: int,
        retry_backoff_ms: int,
        retry_backoff_max_ms: int,
        fetch: Callable[[str], bytes] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raise JwksError if the address is not one, or PyJWT is missing. `fetch` raises OSError or ValueError."""
        _need_pyjwt()
        self._address = _without_secrets(url)
        self._url = url
        self._refresh_s = refresh_ms / 1000
        self._first_wait_s = retry_backoff_ms / 1000
        self._longest_wait_s = retry_backoff_max_ms / 1000
        self._fetch = fetch or fetch_url
        self._monotonic = monotonic
        self._lock = threading.Lock()  # held during a read
        self._keys: dict[str | None, VerificationKey] = {}  # by kid
        self._read_at = self._tried_at = float("-inf")
        self._wait_s = 0.0  # after the last try
        self._is_failing = False

    def key(self, kid: str | None) -> VerificationKey | None:
        """Return the key with this id, from memory. A token without an id means the only key there is."""
        keys = self._keys
        if kid is None and len(keys) == 1:
            return next(iter(keys.values()))
        return keys.get(kid)

    def may_refresh(self) -> bool:
        """Return True if the last read is so long ago that `refresh` will read."""
        return self._monotonic() - self._tried_at >= self._wait_s

    def is_stale(self) -> bool:
        """Return True if it is time to call `refresh`, because the keys were last read refresh.ms ago."""
        return self.may_refresh() and self._monotonic() - self._read_at >= self._refresh_s

    def load(self) -> None:
        """Read the keys for the first time. Raise JwksError if they cannot be read, or if there are none."""
        with self._lock:
            self._read()

    def refresh(self) -> None:
        """Read the keys again, unless that was done a moment ago. The last good keys stay if it fails."""
        with self._lock:
            if not self.may_refresh():
                return
            try:
                self._read()
            except JwksError as error:
                if not self._is_failing:
                    LOG.warning("%s (it will be tried again; keys in use: %d)", error, len(self._keys))
                self._is_failing = True
            else:
                if self._is_failing:
                    LOG.info("%s: %s can be read again; keys in use: %d", SETTING, self._address, len(self._keys))
                self._is_failing = False

    def _read(self) -> None:
        try:
            keys = parse_jwks(self._fetch(self._url))
        except (OSError, ValueError) as error:
            raise JwksError(
                f"{SETTING}: {self._address} cannot be read ({_reason(error)}); correct the address, or start the "
                "server that it names"
            ) from None
        finally:
            now = self._monotonic()
            was_quiet = now - self._tried_at > 2 * self._longest_wait_s  # a flood of unknown ids never waits so long
            self._wait_s = self._first_wait_s if was_quiet else min(2 * self._wait_s, self._longest_wait_s)
            self._tried_at = now
        self._keys = keys  # also if there are none: the issuer has withdrawn those before
        self._read_at = now
        if not keys:
            raise JwksError(
                f"{SETTING}: {self._address} has no public key for signatures, so that every token is refused; name "
                "the JWKS of the issuer"
            )


def parse_jwks(document: bytes) -> dict[str | None, VerificationKey]:
    """Return the usable keys by id; of keys with the same id the first. Raise ValueError if it is not a JWKS."""
    try:
        jwks = json.loads(document)
    except (ValueError, RecursionError):
        jwks = None
    found = jwks.get("keys") if isinstance(jwks, dict) else None
    if not isinstance(found, list):
        raise ValueError("it is not a JWKS, which is a JSON object with a list named keys")
    if len(found) > MAX_KEYS:
        raise ValueError(f"it has more than {MAX_KEYS} keys")
    keys: dict[str | None, VerificationKey] = {}
    for jwk in found:
        key = _usable(jwk) if isinstance(jwk, dict) else None
        if key is not None:
            keys.setdefault(jwk.get("kid"), key)
    return keys


def _usable(jwk: dict[str, Any]) -> VerificationKey | None:
    """Return the key; None if it is malformed, weak, private, or not for signatures."""
    import jwt

    try:
        algorithms = ALGORITHMS[jwk["kty"], jwk.get("crv")]
        if "alg" in jwk:
            algorithms = tuple(algorithm for algorithm in algorithms if algorithm == jwk["alg"])
        is_for_signatures = jwk.get("use", "sig") == "sig" and "verify" in jwk.get("key_ops", ["verify"])
        key = jwt.PyJWK(jwk, algorithms[0]).key
    except Exception:  # of PyJWT, cryptography and Python: the members may have any type and value
        return None
    is_weak = jwk["kty"] == "RSA" and key.key_size < MIN_RSA_BITS
    if is_weak or not is_for_signatures or "d" in jwk or not isinstance(jwk.get("kid"), str | None):
        return None
    return VerificationKey(key, algorithms)


def fetch_url(url: str, context: ssl.SSLContext | None = None) -> bytes:
    """Return the document at an address of file, http or https. Raise OSError, or ValueError if it is too large."""
    opener = build_opener(HTTPSHandler(context=context), _SameScheme())
    opener.addheaders = [("User-Agent", "kafka-group-coordinator")]  # some issuers refuse the default of urllib
    try:
        with opener.open(url, timeout=FETCH_TIMEOUT_S) as response:
            document: bytes = response.read(MAX_BYTES + 1)
    except HTTPError as error:
        with error:
            raise OSError(f"it answers with status {error.code}") from None
    except HTTPException:
        raise OSError("its answer is not HTTP") from None
    if len(document) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES} bytes")
    return document


class _SameScheme(HTTPRedirectHandler):
    """Follows redirects, but not from https to http or to ftp."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if urlsplit(newurl).scheme != req.type:
            raise URLError("it redirects to another scheme")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _need_pyjwt() -> None:
    try:
        import cryptography  # noqa: F401
        import jwt  # noqa: F401
    except ImportError:
        raise JwksError(
            f"OAUTHBEARER needs PyJWT with cryptography; install them with: {install('security')}"
        ) from None


def _without_secrets(url: str) -> str:
    """Return the address without its query, which may be a secret. Raise JwksError if it cannot be used."""
    if "@" in url:
        raise JwksError(
            f"{SETTING} holds a user name or a password, which is not supported; leave them out (if it holds none, "
            "write its @ as %40)"
        )
    try:
        parts = urlsplit(url)
        is_usable = _URL.fullmatch(url) is not None and parts.port != 0
    except ValueError:  # of a port or an IPv6 address
        is_usable = False
    if not is_usable:
        raise JwksError(f"{SETTING} must be an address as https://issuer.example/jwks.json or file:///etc/jwks.json")
    return parts._replace(query="", fragment="").geturl()


def _reason(error: Exception) -> str:
    cause = getattr(error, "reason", error)  # of a URLError
    text = getattr(cause, "strerror", None) or str(cause)
    return text[:1].lower() + text[1:]
