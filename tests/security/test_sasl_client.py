"""The client side of a login, against the server side of each mechanism and against servers that break the rules."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from typing import Any

import pytest

from coordinator.security.oauthbearer import OAuthBearerServer
from coordinator.security.plain import PlainServer, StaticUsers
from coordinator.security.sasl_client import LoginError, log_in
from coordinator.security.sasl_server import Blocking, SaslError, SaslServer
from coordinator.security.scram import BY_NAME, SCRAM_SHA_256, ScramCredential, ScramServer, credential_of
from coordinator.security.token_validator import TokenError, ValidToken
from protocol.error_codes import ErrorCode
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

NONCE = "rOprNGfwEbeRWgbNEkqO"
LIFETIME_MS = 3_600_000


class Listener:
    """A server that answers the requests of one login. `others` are answers in place of those of the mechanism."""

    def __init__(self, server: SaslServer, **others: Any) -> None:
        self.server = server
        self.handshake = others.get("handshake", SaslHandshakeResponse())
        self.spoil: Callable[[bytes], bytes] = others.get("spoil", lambda token: token)
        self.tokens: list[bytes] = []

    def answer(self, request: Any) -> Any:
        if isinstance(request, SaslHandshakeRequest):
            assert request.mechanism == self.server.mechanism
            return self.handshake
        assert isinstance(request, SaslAuthenticateRequest)
        self.tokens.append(request.auth_bytes)
        try:
            found = self.server.evaluate(request.auth_bytes)
            token = found.run() if isinstance(found, Blocking) else found
        except SaslError as error:
            code = ErrorCode.SASL_AUTHENTICATION_FAILED
            return SaslAuthenticateResponse(error_code=code, error_message=str(error))
        lifetime = LIFETIME_MS if self.server.is_complete else 0
        return SaslAuthenticateResponse(auth_bytes=self.spoil(token), session_lifetime_ms=lifetime)

    def admit(self, user: str, secret: str) -> int:
        """Play a login, and return the lifetime of its session."""
        steps = log_in(self.server.mechanism, user, secret, NONCE)
        answer: Any = None
        while True:
            try:
                request = steps.send(answer)
            except StopIteration as done:
                return int(done.value)
            answer = self.answer(request)


def plain_server(user: str, password: str) -> SaslServer:
    return PlainServer(StaticUsers({user: password}).check)


def scram_server(
    user: str, password: str, mechanism: str = "SCRAM-SHA-256", iterations: int = 4096, nonce: str = "server"
) -> SaslServer:
    row = BY_NAME[mechanism]
    return ScramServer(row, {user: credential_of(row, password, b"salt", iterations)}.get, nonce)


def token_server(user: str, token: str) -> SaslServer:
    def validate(found: str) -> ValidToken:
        if found != token:
            raise TokenError("the token expired")
        return ValidToken("alice", 1, frozenset())

    return OAuthBearerServer(validate)


def test_the_example_of_rfc_7677() -> None:
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    look_up = {"user": credential_of(SCRAM_SHA_256, "pencil", salt, 4096)}.get
    listener = Listener(ScramServer(SCRAM_SHA_256, look_up, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"))
    assert listener.admit("user", "pencil") == LIFETIME_MS
    assert listener.tokens == [
        b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    ]


@pytest.mark.parametrize(
    ("server", "user", "secret"),
    [
        (plain_server, "jürgen", "pässwörd €"),
        (scram_server, "alice", "pässwörd, = €"),
        (scram_server, "=2C,=3D", "secret"),
        (lambda user, secret: scram_server(user, secret, "SCRAM-SHA-512"), "a,b=c", "secret"),
        (token_server, "", "good.to-k_en"),
    ],
)
def test_the_right_secret_logs_in(server: Callable[[str, str], SaslServer], user: str, secret: str) -> None:
    listener = Listener(server(user, secret))
    assert listener.admit(user, secret) == LIFETIME_MS
    assert (listener.server.is_complete, listener.server.user) == (True, user or "alice")


@pytest.mark.parametrize(
    ("server", "user", "sentence"),
    [
        (
            plain_server,
            "alice",
            "it refuses the user 'alice' (Authentication failed: Invalid username or password); correct the name or "
            "the password",
        ),
        (
            scram_server,
            "alice",
            "it refuses the user 'alice' (the password of the user 'alice' is wrong; correct it in the client); "
            "correct the name or the password",
        ),
        (
            token_server,
            "",
            'it refuses the token ({"status":"invalid_token"}); get a new one from the issuer that the server trusts',
        ),
    ],
)
def test_a_wrong_secret_is_told_with_the_words_of_the_server(
    server: Callable[[str, str], SaslServer], user: str, sentence: str
) -> None:
    listener = Listener(server(user, "right"))
    with pytest.raises(LoginError) as raised:
        listener.admit(user, "wrong-one")
    assert str(raised.value) == sentence
    assert not listener.server.is_complete


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (
            ErrorCode.UNSUPPORTED_SASL_MECHANISM,
            "the mechanism PLAIN is not enabled there; set sasl.mechanism to one of SCRAM-SHA-512, OAUTHBEARER",
        ),
        (ErrorCode.ILLEGAL_SASL_STATE, "its listener has no SASL; remove SASL_ from security.protocol"),
    ],
)
def test_a_handshake_that_fails_sends_no_password(code: ErrorCode, sentence: str) -> None:
    handshake = SaslHandshakeResponse(error_code=code, mechanisms=["SCRAM-SHA-512", "OAUTHBEARER"])
    listener = Listener(plain_server("alice", "secret"), handshake=handshake)
    with pytest.raises(LoginError) as raised:
        listener.admit("alice", "secret")
    assert str(raised.value) == sentence
    assert listener.tokens == []


@pytest.mark.parametrize(
    "final",
    [
        pytest.param(lambda token: b"", id="nothing"),
        pytest.param(lambda token: token[:-4] + b"AAA=", id="another signature"),
        pytest.param(lambda token: b"v=", id="an empty signature"),
    ],
)
def test_a_server_that_does_not_know_the_password_is_not_trusted(final: Callable[[bytes], bytes]) -> None:
    listener = Listener(
        scram_server("alice", "secret"), spoil=lambda token: token if token.startswith(b"r=") else final(token)
    )
    with pytest.raises(LoginError, match="it does not prove that it knows the user 'alice'"):
        listener.admit("alice", "secret")


def test_a_server_with_the_stored_key_alone_is_not_trusted() -> None:
    credential = credential_of(SCRAM_SHA_256, "secret", b"salt", 4096)
    stolen = ScramCredential(b"salt", credential.stored_key, b"another key", 4096)
    with pytest.raises(LoginError, match="does not prove"):
        Listener(ScramServer(SCRAM_SHA_256, {"alice": stolen}.get, "server")).admit("alice", "secret")


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"r=server,s=c2FsdA==,i=4096",
        b"r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA=,i=4096",
        b"r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA==,i=4096x",
        b"r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA==,i=-1",
        b"r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA==,i=9999999999",
        b"m=new,r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA==,i=4096",
    ],
)
def test_a_first_answer_that_breaks_the_rules_ends_the_login(first: bytes) -> None:
    listener = Listener(scram_server("alice", "secret"), spoil=lambda token: first)
    with pytest.raises(LoginError, match=r"does not follow the rules of SCRAM-SHA-256 \(RFC 5802\)"):
        listener.admit("alice", "secret")
    assert len(listener.tokens) == 1


@pytest.mark.parametrize("iterations", [b"4095", b"1000001", b"999999999"])
def test_too_few_iterations_give_the_password_away_and_too_many_take_too_long(iterations: bytes) -> None:
    listener = Listener(scram_server("alice", "secret"), spoil=lambda token: token.replace(b"4096", iterations))
    with pytest.raises(LoginError, match=f"it asks for {iterations.decode()} iterations of SCRAM-SHA-256; create the"):
        listener.admit("alice", "secret")
    assert len(listener.tokens) == 1


def test_an_error_in_the_last_message_of_scram_is_a_refusal() -> None:
    listener = Listener(
        scram_server("alice", "secret"), spoil=lambda token: token if token.startswith(b"r=") else b"e=invalid-proof"
    )
    with pytest.raises(LoginError, match=r"it refuses the user 'alice' \(invalid-proof\)"):
        listener.admit("alice", "secret")


def test_a_token_is_refused_even_if_the_server_accepts_the_acknowledgement() -> None:
    steps = log_in("OAUTHBEARER", "", "a.b.c", NONCE)
    next(steps)
    steps.send(SaslHandshakeResponse())
    acknowledgement = steps.send(SaslAuthenticateResponse(auth_bytes=b'{"status":"invalid_token"}'))
    assert acknowledgement == SaslAuthenticateRequest(auth_bytes=b"\x01")
    with pytest.raises(LoginError, match="invalid_token"):
        steps.send(SaslAuthenticateResponse())
