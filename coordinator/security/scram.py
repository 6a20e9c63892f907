"""The server side of SASL SCRAM-SHA-256 and SCRAM-SHA-512, and the credentials that it checks.

Pure: the caller hands in the server's nonce and the look-up of credentials. `credential_of` and `matches` run PBKDF2,
which takes milliseconds. Passwords are used as UTF-8 without SASLprep, as in Kafka. A message is accepted exactly if
Kafka accepts its format, so neither names outside ASCII nor channel binding are possible.
Source: RFC 5802, RFC 7677, and Kafka's `ScramMechanism`, `ScramFormatter`, `ScramMessages` and `ScramSaslServer`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.security.sasl_server import SaslAuthenticationError, SaslError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384

# Possessive quantifiers: a client that has not logged in yet cannot make the search long.
_VALUE: Final = rb"[\x01-\x2B\x2D-\x7F]++"  # without a comma
_PRINTABLE: Final = rb"[\x21-\x2B\x2D-\x7E]++"  # likewise
_SASLNAME: Final = rb"(?:[\x01-\x2B\x2D-\x3C\x3E-\x7F]++|=2C|=3D)++"
_BASE64: Final = rb"(?:[a-zA-Z0-9/+]{4})*+(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS: Final = rb"(?:,[A-Za-z]++=%b)*" % _VALUE
_CLIENT_FIRST: Final = re.compile(
    rb"n,(?:a=(?P<authzid>%b))?,(?:m=%b,)?(?P<bare>n=(?P<saslname>%b),r=(?P<nonce>%b)(?P<extensions>%b))"
    % (_SASLNAME, _VALUE, _SASLNAME, _PRINTABLE, _EXTENSIONS)
)
_CLIENT_FINAL: Final = re.compile(
    rb"(?P<without_proof>c=%b,r=(?P<nonce>%b))%b,p=(?P<proof>%b)" % (_BASE64, _PRINTABLE, _EXTENSIONS, _BASE64)
)


class ScramMechanism(NamedTuple):
    type: int
    """Kafka's number, in requests and in stored credentials."""

    name: str
    hash_name: str


SCRAM_SHA_256: Final = ScramMechanism(1, "SCRAM-SHA-256", "sha256")
SCRAM_SHA_512: Final = ScramMechanism(2, "SCRAM-SHA-512", "sha512")
BY_NAME: Final[Mapping[str, ScramMechanism]] = {row.name: row for row in (SCRAM_SHA_256, SCRAM_SHA_512)}
BY_TYPE: Final[Mapping[int, ScramMechanism]] = {row.type: row for row in (SCRAM_SHA_256, SCRAM_SHA_512)}


class ScramCredential(NamedTuple):
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


def credential_of(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> ScramCredential:
    """Return the credential of a password. Blocks for as many hashes as there are iterations."""
    salted_password = hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)
    return credential_from_salted_password(mechanism, salted_password, salt, iterations)


def credential_from_salted_password(
    mechanism: ScramMechanism, salted_password: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    """Return the credential of a password that PBKDF2 has been applied to, as AlterUserScramCredentials sends it."""
    client_key = hmac.digest(salted_password, b"Client Key", mechanism.hash_name)
    stored_key = hashlib.new(mechanism.hash_name, client_key).digest()
    server_key = hmac.digest(salted_password, b"Server Key", mechanism.hash_name)
    return ScramCredential(salt, stored_key, server_key, iterations)


def matches(mechanism: ScramMechanism, credential: ScramCredential, password: str) -> bool:
    """Return True if the credential is of this password. Blocks, as `credential_of` does."""
    derived = credential_of(mechanism, password, credential.salt, credential.iterations)
    return hmac.compare_digest(derived.stored_key, credential.stored_key)


class ScramServer:
    """One exchange: the client names its user, then proves that it has the password.

    The value of the channel binding is signed, and not checked, as in Kafka: only clients that bind no channel get
    this far.
    """

    __slots__ = (
        "_credential",
        "_first_messages",
        "_hash_name",
        "_look_up",
        "_nonce",
        "claimed",
        "is_complete",
        "mechanism",
        "user",
    )

    expires_ms = -1

    def __init__(self, mechanism: ScramMechanism, look_up: Callable[[str], ScramCredential | None], nonce: str) -> None:
        self.mechanism = mechanism.name
        self.is_complete = False
        self.user = ""
        self._hash_name = mechanism.hash_name
        self._look_up = look_up
        self._nonce = nonce.encode()  # later that of the client and this one
        self.claimed = ""
        self._credential: ScramCredential | None = None  # None before the client's first message
        self._first_messages = b""  # as signed: that of the client without its header, and the answer

    def evaluate(self, token: bytes) -> bytes:
        if self._credential is None:
            return self._receive_first(token)
        return self._receive_final(token, self._credential)

    def _receive_first(self, token: bytes) -> bytes:
        message = _CLIENT_FIRST.fullmatch(token)
        if message is None:
            raise SaslError(
                "the first SCRAM message of the client has a wrong format; use an ASCII user name, and a client that "
                "follows RFC 5802 without channel binding"
            )
        name = message["saslname"].replace(b"=2C", b",").replace(b"=3D", b"=")
        self.claimed = name.decode()
        extensions = dict(pair.split(b"=", 1) for pair in message["extensions"].split(b",")[1:])
        if extensions.get(b"tokenauth", b"").lower() == b"true":
            raise SaslError(
                "the client logs in with a delegation token, which is not served; use a user and a password"
            )
        credential = self._look_up(self.claimed)
        if credential is None:
            raise SaslError(
                f"the user {self.claimed!r:.80} has no {self.mechanism} credential; create it with `coordinator "
                "users add`"
            )
        if message["authzid"] not in (None, name):  # Kafka does not decode =2C in the first either
            raise SaslAuthenticationError(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        if credential.iterations < MIN_ITERATIONS:
            raise SaslError(
                f"the {self.mechanism} credential of the user {self.claimed!r:.80} has {credential.iterations} "
                f"iterations; create it again with at least {MIN_ITERATIONS}"
            )
        self._nonce = message["nonce"] + self._nonce
        answer = b"r=%b,s=%b,i=%d" % (self._nonce, b64encode(credential.salt), credential.iterations)
        self._first_messages = message["bare"] + b"," + answer
        self._credential = credential
        return answer

    def _receive_final(self, token: bytes, credential: ScramCredential) -> bytes:
        message = _CLIENT_FINAL.fullmatch(token)
        if message is None:
            raise SaslError(
                "the last SCRAM message of the client has a wrong format; use a client that follows RFC 5802"
            )
        if message["nonce"] != self._nonce:
            raise SaslError("the client does not repeat the nonce of the server; use a client that follows RFC 5802")
        signed = self._first_messages + b"," + message["without_proof"]
        signature = hmac.digest(credential.stored_key, signed, self._hash_name)
        proof = b64decode(message["proof"])
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=False))
        stored_key = hashlib.new(self._hash_name, client_key).digest()
        if len(proof) != len(signature) or not hmac.compare_digest(stored_key, credential.stored_key):
            raise SaslError(f"the password of the user {self.claimed!r:.80} is wrong; correct it in the client")
        self.user = self.claimed
        self.is_complete = True
        return b"v=" + b64encode(hmac.digest(credential.server_key, signed, self._hash_name))
