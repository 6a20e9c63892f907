"""OAUTHBEARER (RFC 7628): the client sends an access token.

A refused token is answered with a JSON object, which the client acknowledges with the byte 0x01; that ends the
exchange. Source: Kafka's `OAuthBearerSaslServer` and `OAuthBearerClientInitialResponse`, with the callback handler
`OAuthBearerValidatorCallbackHandler`, which sets neither scope nor openid-configuration and accepts all extensions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from coordinator.security.sasl_server import Blocking, SaslAuthenticationError, SaslError, SaslServer
from coordinator.security.token_validator import TokenError, ValidToken

OAUTHBEARER: Final = "OAUTHBEARER"
INVALID_TOKEN: Final = b'{"status":"invalid_token"}'
ACKNOWLEDGEMENT: Final = b"\x01"  # of an error, by the client

_MESSAGE: Final = re.compile(
    rb"n,(?:a=(?P<authzid>(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+))?,"  # any ASCII but = and , and NUL
    rb"\x01(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01"
)
_AUTH: Final = re.compile(rb"(?P<scheme>\w+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)")


class OAuthBearerServer(SaslServer):
    """One exchange. `validate` returns the claims of a token or a call that does so and blocks, or raises TokenError.

    `refusal` is the reason why the last token was refused, for the log; None if it was not.
    """

    mechanism = OAUTHBEARER
    claimed = ""

    def __init__(self, validate: Callable[[str], ValidToken | Callable[[], ValidToken]]) -> None:
        self.is_complete = False
        self.user = ""
        self.expires_ms = -1
        self.refusal: TokenError | None = None
        self._validate = validate

    def evaluate(self, token: bytes) -> bytes | Blocking:
        """Take the first message of the client, or after a refusal its acknowledgement or another first message."""
        if token == ACKNOWLEDGEMENT and self.refusal is not None:
            raise SaslAuthenticationError(INVALID_TOKEN.decode()) from self.refusal
        self.refusal = None
        message = parse_initial_response(token)
        try:
            found = self._validate(message.token)
        except TokenError as error:
            return self._refuse(error)
        if isinstance(found, ValidToken):
            return self._accept(found, message.authorization_id)
        return Blocking(partial(self._finish, found, message.authorization_id))

    def _finish(self, validate: Callable[[], ValidToken], authorization_id: str) -> bytes:
        try:
            found = validate()
        except TokenError as error:
            return self._refuse(error)
        return self._accept(found, authorization_id)

    def _refuse(self, error: TokenError) -> bytes:
        self.refusal = error
        return INVALID_TOKEN

    def _accept(self, token: ValidToken, authorization_id: str) -> bytes:
        if authorization_id and authorization_id != token.user:
            raise SaslAuthenticationError(
                f"Authentication failed: Client requested an authorization id ({authorization_id}) that is different "
                f"from the token's principal name ({token.user})"
            )
        self.user = token.user
        self.expires_ms = token.expires_ms
        self.is_complete = True
        return b""


class InitialResponse(NamedTuple):
    """The first message of a client, without its extensions."""

    token: str
    authorization_id: str


def parse_initial_response(message: bytes) -> InitialResponse:
    """Raise SaslError if the message is malformed."""
    matched = _MESSAGE.fullmatch(message)
    if matched is None:
        raise SaslError("the first message is not of the form of RFC 7628, section 3.1; correct the client")
    pairs = dict(pair.split(b"=", 1) for pair in matched["pairs"].split(b"\x01")[:-1])  # the last of equal names counts
    auth = _AUTH.fullmatch(pairs.get(b"auth", b""))
    if auth is None or auth["scheme"].lower() != b"bearer":
        raise SaslError("the first message has no key auth with a Bearer token; correct the client")
    return InitialResponse(auth["token"].decode(), (matched["authzid"] or b"").decode())
