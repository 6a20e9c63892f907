"""The client side of a SASL login on one connection: the requests to send, and what their responses must be.

Pure: the caller sends each request in the newest version that both sides have (SaslHandshake in 1, because the tokens
follow in SaslAuthenticate), and hands in the nonce of SCRAM. Deriving a SCRAM key blocks for milliseconds.
Source: KIP-152, KIP-368, RFC 4616, RFC 5802, RFC 7628, and Kafka's `SaslClientAuthenticator`, `ScramSaslClient` and
`OAuthBearerSaslClient`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from coordinator.security.scram import BY_NAME, MIN_ITERATIONS, ScramMechanism, credential_from_salted_password
from protocol.error_codes import ErrorCode
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

MAX_ITERATIONS: Final = 1_000_000  # a server must not keep us busy; Kafka's have at most 16384

_SERVER_FIRST: Final = re.compile(
    rb"r=(?P<nonce>[\x21-\x2B\x2D-\x7E]+),"
    rb"s=(?P<salt>(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?),"
    rb"i=(?P<iterations>[0-9]{1,9})(?:,.*)?"
)

Requests: TypeAlias = Generator[SaslHandshakeRequest | SaslAuthenticateRequest, Any, int]
Tokens: TypeAlias = Generator[bytes, bytes, None]


class LoginError(Exception):
    """The login failed. The message is one sentence about the server, without a password or a token."""


def log_in(mechanism: str, user: str, secret: str, nonce: str) -> Requests:
    """Yield each request, take its response by `send`, and return the lifetime of the session in ms; 0: no end.

    `secret` is a password, or for OAUTHBEARER, which has no `user`, a token. `nonce` is random, and is printable ASCII
    without a comma. Raises LoginError.
    """
    handshake = yield SaslHandshakeRequest(mechanism=mechanism)
    if handshake.error_code:
        raise _no_mechanism(mechanism, handshake)
    tokens = _TOKENS[mechanism](user, secret, nonce)
    token = next(tokens)
    while True:
        response = yield SaslAuthenticateRequest(auth_bytes=token)
        if response.error_code:
            raise _refused(user, response.error_message or f"error {response.error_code}")
        try:
            token = tokens.send(response.auth_bytes)
        except StopIteration:
            return int(response.session_lifetime_ms)


def _no_mechanism(mechanism: str, handshake: SaslHandshakeResponse) -> LoginError:
    if handshake.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        return LoginError("its listener has no SASL; remove SASL_ from security.protocol")
    return LoginError(
        f"the mechanism {mechanism} is not enabled there; set sasl.mechanism to one of "
        f"{', '.join(handshake.mechanisms)}"
    )


def _refused(user: str, reason: str) -> LoginError:
    if user:
        return LoginError(f"it refuses the user {user!r} ({reason}); correct the name or the password")
    return LoginError(f"it refuses the token ({reason}); get a new one from the issuer that the server trusts")


def _plain(user: str, password: str, nonce: str) -> Tokens:
    yield f"\0{user}\0{password}".encode()


def _oauthbearer(user: str, token: str, nonce: str) -> Tokens:
    problem = yield f"n,,\x01auth=Bearer {token}\x01\x01".encode()
    if problem:
        yield b"\x01"  # the acknowledgement, upon which the server ends the exchange with an error
        raise _refused("", problem.decode(errors="replace"))


def _scram(mechanism: ScramMechanism, user: str, password: str, nonce: str) -> Tokens:
    name = user.replace("=", "=3D").replace(",", "=2C")
    bare = f"n={name},r={nonce}".encode()
    first = yield b"n,," + bare
    found = _SERVER_FIRST.fullmatch(first)
    if found is None or not found["nonce"].startswith(nonce.encode()):
        raise LoginError(
            f"it does not follow the rules of {mechanism.name} (RFC 5802); update it, or check the address"
        )
    iterations = int(found["iterations"])
    if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
        raise LoginError(
            f"it asks for {iterations} iterations of {mechanism.name}; create the credential of the user {user!r} "
            f"again with {MIN_ITERATIONS} or more, at most {MAX_ITERATIONS}"
        )
    salt = b64decode(found["salt"])
    salted_password = hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)
    credential = credential_from_salted_password(mechanism, salted_password, salt, iterations)
    without_proof = b"c=biws,r=" + found["nonce"]
    signed = b",".join((bare, first, without_proof))
    client_key = hmac.digest(salted_password, b"Client Key", mechanism.hash_name)
    signature = hmac.digest(credential.stored_key, signed, mechanism.hash_name)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    final = yield b"%b,p=%b" % (without_proof, b64encode(proof))
    verdict = final.partition(b",")[0]
    if verdict.startswith(b"e="):
        raise _refused(user, verdict[2:].decode(errors="replace"))
    proved = hmac.digest(credential.server_key, signed, mechanism.hash_name)
    if not hmac.compare_digest(verdict, b"v=" + b64encode(proved)):
        raise LoginError(
            f"it does not prove that it knows the user {user!r}; check the address, because it may be another server "
            "than it claims to be"
        )


_TOKENS: Final[Mapping[str, Callable[[str, str, str], Tokens]]] = {
    "PLAIN": _plain,
    "OAUTHBEARER": _oauthbearer,
    **{name: partial(_scram, mechanism) for name, mechanism in BY_NAME.items()},
}
