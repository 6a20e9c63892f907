"""The server side of SCRAM: the examples of the RFCs, two real clients, and each refusal."""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import pbkdf2_hmac, sha256

import pytest
from aiokafka.conn import ScramAuthenticator
from hypothesis import given
from hypothesis import strategies as st
from kafka.net.sasl.scram import ScramClient

from coordinator.security.sasl_server import SaslAuthenticationError, SaslError
from coordinator.security.scram import (
    BY_NAME,
    BY_TYPE,
    SCRAM_SHA_256,
    SCRAM_SHA_512,
    ScramCredential,
    ScramMechanism,
    ScramServer,
    credential_from_salted_password,
    credential_of,
    matches,
)

MECHANISMS = [SCRAM_SHA_256, SCRAM_SHA_512]
SCRAM_SHA_1 = ScramMechanism(0, "SCRAM-SHA-1", "sha1")  # not served; RFC 5802 has its example for it
NONCE = "3rfcNHYJY1ZVvWVs7j"
SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CREDENTIAL = credential_of(SCRAM_SHA_256, "pencil", SALT, 4096)
FIRST = b"n,,n=user,r=abc"

BAD_FIRST = "the first SCRAM message of the client has a wrong format; use an ASCII user name, and a client that "
BAD_FINAL = "the last SCRAM message of the client has a wrong format; use a client that follows RFC 5802"
BAD_PASSWORD = "the password of the user 'user' is wrong; correct it in the client"
NO_TOKENS = "the client logs in with a delegation token, which is not served; use a user and a password"
OTHER_AUTHZID = "Authentication failed: Client requested an authorization id that is different from username"


def server_of(user: str = "user", credential: ScramCredential = CREDENTIAL) -> ScramServer:
    return ScramServer(SCRAM_SHA_256, {user: credential}.get, NONCE)


def kafka_python(mechanism: str, user: str, password: str) -> list[Callable[[bytes], bytes | None]]:
    client = ScramClient(user, password, mechanism)

    def final(answer: bytes) -> bytes:
        client.process_server_first_message(answer)
        return bytes(client.final_message())

    return [lambda _: bytes(client.first_message()), final, client.process_server_final_message]


def aiokafka(mechanism: str, user: str, password: str) -> list[Callable[[bytes], bytes | None]]:
    client = ScramAuthenticator(
        loop=None, sasl_plain_password=password, sasl_plain_username=user, sasl_mechanism=mechanism
    )

    def final(answer: bytes) -> bytes:
        client.process_server_first_message(answer.decode())
        return str(client.final_message()).encode()

    return [
        lambda _: str(client.first_message()).encode(),
        final,
        lambda answer: client.process_server_final_message(answer.decode()),
    ]


def log_in(server: ScramServer, steps: list[Callable[[bytes], bytes | None]]) -> None:
    """Run a client against the server. The last step raises if the signature of the server is wrong."""
    first, final, verify = steps
    answer = server.evaluate(first(b"") or b"")
    verify(server.evaluate(final(answer) or b""))


@pytest.mark.parametrize(
    ("mechanism", "salt", "nonce", "messages"),
    [
        pytest.param(
            SCRAM_SHA_1,
            "QSXCR+Q6sek8bf92",
            NONCE,
            [
                b"n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
                b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
                b"c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
                b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=",
            ],
            id="RFC 5802",
        ),
        pytest.param(
            SCRAM_SHA_256,
            "W22ZaJ0SNY7soEsUEjb6gQ==",
            "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
            [
                b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
                b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
                b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
                b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
                b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
            ],
            id="RFC 7677",
        ),
    ],
)
def test_the_example_of_the_rfc(mechanism: ScramMechanism, salt: str, nonce: str, messages: list[bytes]) -> None:
    credential = credential_of(mechanism, "pencil", b64decode(salt), 4096)
    server = ScramServer(mechanism, {"user": credential}.get, nonce)
    assert server.evaluate(messages[0]) == messages[1]
    assert (server.user, server.is_complete) == ("", False)
    assert server.evaluate(messages[2]) == messages[3]
    assert (server.mechanism, server.user, server.is_complete, server.expires_ms) == (mechanism.name, "user", True, -1)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda row: row.name)
@pytest.mark.parametrize(
    ("client", "user", "password"),
    [
        (kafka_python, "alice", "secret"),
        (kafka_python, "alice", "pässwörd € \U0001f600"),
        (aiokafka, "alice", "pässwörd, = € \u2167"),  # SASLprep would change the last character
        (aiokafka, "a,b=c", "secret"),
        (aiokafka, "=2C,=3D", "secret"),
    ],
)
def test_a_real_client_logs_in(
    mechanism: ScramMechanism,
    client: Callable[[str, str, str], list[Callable[[bytes], bytes | None]]],
    user: str,
    password: str,
) -> None:
    server = ScramServer(mechanism, {user: credential_of(mechanism, password, b"salt", 4096)}.get, NONCE)
    log_in(server, client(mechanism.name, user, password))
    assert (server.user, server.is_complete) == (user, True)


@pytest.mark.parametrize("client", [kafka_python, aiokafka])
def test_a_wrong_password_is_refused(client: Callable[..., list[Callable[[bytes], bytes | None]]]) -> None:
    server = server_of()
    with pytest.raises(SaslError, match=BAD_PASSWORD) as raised:
        log_in(server, client("SCRAM-SHA-256", "user", "pen"))
    assert type(raised.value) is SaslError
    assert (server.user, server.is_complete) == ("", False)


@pytest.mark.parametrize(
    ("token", "kind", "text"),
    [
        pytest.param(b"", SaslError, BAD_FIRST, id="empty"),
        pytest.param(b"\xff\xfe", SaslError, BAD_FIRST, id="no UTF-8"),
        pytest.param(b"\0user\0password", SaslError, BAD_FIRST, id="PLAIN"),
        pytest.param(b"y,,n=user,r=abc", SaslError, BAD_FIRST, id="the client could bind a channel"),
        pytest.param(b"p=tls-unique,,n=user,r=abc", SaslError, BAD_FIRST, id="channel binding"),
        pytest.param(b"n,x=user,n=user,r=abc", SaslError, BAD_FIRST, id="no authzid"),
        pytest.param(b"n,a=,n=user,r=abc", SaslError, BAD_FIRST, id="empty authzid"),
        pytest.param(b"n,n=user,r=abc", SaslError, BAD_FIRST, id="header cut off"),
        pytest.param(b"n,,n=,r=abc", SaslError, BAD_FIRST, id="empty name"),
        pytest.param(b"n,,n=us=er,r=abc", SaslError, BAD_FIRST, id="= in the name"),
        pytest.param(b"n,,n=us=2cer,r=abc", SaslError, BAD_FIRST, id="=2c in the name"),
        pytest.param(b"n,,n=us\0er,r=abc", SaslError, BAD_FIRST, id="NUL in the name"),
        pytest.param("n,,n=jürgen,r=abc".encode(), SaslError, BAD_FIRST, id="name outside ASCII"),
        pytest.param(b"n,,n=user", SaslError, BAD_FIRST, id="no nonce"),
        pytest.param(b"n,,n=user,r=", SaslError, BAD_FIRST, id="empty nonce"),
        pytest.param(b"n,,n=user,r=a c", SaslError, BAD_FIRST, id="blank in the nonce"),
        pytest.param(b"n,,n=user,r=abc\n", SaslError, BAD_FIRST, id="line feed in the nonce"),
        pytest.param(b"n,,r=abc,n=user", SaslError, BAD_FIRST, id="wrong order"),
        pytest.param(b"n,,m=,n=user,r=abc", SaslError, BAD_FIRST, id="empty m"),
        pytest.param(b"n,,n=user,r=abc,", SaslError, BAD_FIRST, id="comma at the end"),
        pytest.param(b"n,,n=user,r=abc,ext", SaslError, BAD_FIRST, id="extension without value"),
        pytest.param(b"n,,n=user,r=abc,ext1=a", SaslError, BAD_FIRST, id="digit in the name of an extension"),
        pytest.param(b"n,,n=user,r=abc,tokenauth=True", SaslError, NO_TOKENS, id="delegation token"),
        pytest.param(
            b"n,,n=mallory,r=abc",
            SaslError,
            "the user 'mallory' has no SCRAM-SHA-256 credential; create it with `coordinator users add`",
            id="unknown user",
        ),
        pytest.param(b"n,a=user,n=mallory,r=abc", SaslError, "the user 'mallory' has no", id="unknown before authzid"),
        pytest.param(b"n,a=root,n=user,r=abc", SaslAuthenticationError, OTHER_AUTHZID, id="other authzid"),
    ],
)
def test_a_first_message_that_is_refused(token: bytes, kind: type[SaslError], text: str) -> None:
    server = server_of()
    with pytest.raises(kind) as raised:
        server.evaluate(token)
    assert type(raised.value) is kind
    assert str(raised.value).startswith(text)
    assert not server.is_complete


@pytest.mark.parametrize(
    ("user", "token"),
    [
        ("user", b"n,a=user,n=user,r=abc"),
        ("user", b"n,,m=a=b ~,n=user,r=abc"),
        ("user", b"n,,n=user,r=a%=~!"),
        ("user", b"n,,n=user,r=abc,first=val1,second=name1 = value ,third=123"),
        ("user", b"n,,n=user,r=abc,tokenauth=yes"),
        ("user", b"n,,n=user,r=abc,tokenauth=true,tokenauth=false"),
        ("=2C", b"n,,n==3D2C,r=abc"),
        ("a b\n\x7f", b"n,,n=a b\n\x7f,r=abc"),
    ],
)
def test_a_first_message_that_is_accepted(user: str, token: bytes) -> None:
    assert server_of(user).evaluate(token).endswith(b"3rfcNHYJY1ZVvWVs7j,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")


def test_the_authzid_is_compared_as_sent() -> None:
    with pytest.raises(SaslAuthenticationError, match=OTHER_AUTHZID):
        server_of("a,b").evaluate(b"n,a=a=2Cb,n=a=2Cb,r=abc")


def test_a_credential_with_few_iterations_is_refused() -> None:
    expected = (
        "^the SCRAM-SHA-256 credential of the user 'user' has 4095 iterations; create it again with at least 4096$"
    )
    with pytest.raises(SaslError, match=expected) as raised:
        server_of(credential=CREDENTIAL._replace(iterations=4095)).evaluate(FIRST)
    assert type(raised.value) is SaslError


def test_a_long_name_is_cut_in_the_error() -> None:
    with pytest.raises(SaslError) as raised:
        server_of().evaluate(b"n,,n=%b,r=abc" % (b"x" * 100_000))
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(
    ("token", "text"),
    [
        pytest.param(b"", BAD_FINAL, id="empty"),
        pytest.param(FIRST, BAD_FINAL, id="the first again"),
        pytest.param(b"c=biws,r=abc%b", BAD_FINAL, id="no proof"),
        pytest.param(b"c=biws,p=AAAA", BAD_FINAL, id="no nonce"),
        pytest.param(b"r=abc%b,p=AAAA", BAD_FINAL, id="no channel binding"),
        pytest.param(b"c=bi,r=abc%b,p=AAAA", BAD_FINAL, id="channel binding cut off"),
        pytest.param(b"c=biws,r=abc%b,p=A=AA", BAD_FINAL, id="broken base64"),
        pytest.param(b"c=biws,r=abc%b,ext,p=AAAA", BAD_FINAL, id="extension without value"),
        pytest.param(b"c=biws,r=abc%b,p=AAAA,ext=a", BAD_FINAL, id="extension behind the proof"),
        pytest.param(b"c=biws,r=abc%b\xff,p=AAAA", BAD_FINAL, id="no UTF-8"),
        pytest.param(b"c=biws,r=abc,p=AAAA", "the client does not repeat the nonce of the server;", id="cut nonce"),
        pytest.param(b"c=biws,r=xabc%b,p=AAAA", "the client does not repeat the nonce of the server;", id="long nonce"),
        pytest.param(b"c=biws,r=abc%b,p=", BAD_PASSWORD, id="empty proof"),
        pytest.param(b"c=biws,r=abc%b,p=AAAA", BAD_PASSWORD, id="short proof"),
        pytest.param(b"c=biws,r=abc%b,p=" + b64encode(bytes(32)), BAD_PASSWORD, id="wrong proof"),
    ],
)
def test_a_last_message_that_is_refused(token: bytes, text: str) -> None:
    server = server_of()
    server.evaluate(FIRST)
    with pytest.raises(SaslError) as raised:
        server.evaluate(token.replace(b"%b", NONCE.encode()))
    assert type(raised.value) is SaslError
    assert str(raised.value).startswith(text)
    assert (server.user, server.is_complete) == ("", False)


def final_of(bare: bytes, answer: bytes, header: bytes, extensions: bytes = b"") -> bytes:
    """Return the last message of a client that signs its first message without header, and this header of GS2."""
    message = b"c=%b,r=abc%b" % (b64encode(header), NONCE.encode())
    client_key = hmac.digest(pbkdf2_hmac("sha256", b"pencil", SALT, 4096), b"Client Key", "sha256")
    signature = hmac.digest(sha256(client_key).digest(), b",".join([bare, answer, message]), "sha256")
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    return message + extensions + b",p=" + b64encode(proof)


@pytest.mark.parametrize(
    ("first", "bare", "header", "extensions"),
    [
        pytest.param(b"n,a=user,n=user,r=abc", b"n=user,r=abc", b"n,a=user,", b"", id="header with an authzid"),
        pytest.param(FIRST, b"n=user,r=abc", b"y,,", b"", id="another header than in the first message"),
        pytest.param(b"n,,m=x,n=user,r=abc", b"n=user,r=abc", b"n,,", b"", id="m is not signed"),
        pytest.param(b"n,,n=user,r=abc,e=1", b"n=user,r=abc,e=1", b"n,,", b"", id="extension of the first is signed"),
        pytest.param(FIRST, b"n=user,r=abc", b"n,,", b",e=1,p=2", id="extension of the last is not signed"),
    ],
)
def test_parts_of_a_message_that_are_signed_or_not_checked(
    first: bytes, bare: bytes, header: bytes, extensions: bytes
) -> None:
    server = server_of()
    server.evaluate(final_of(bare, server.evaluate(first), header, extensions))
    assert server.is_complete


def test_a_header_changed_on_the_way_is_refused() -> None:
    server = server_of()
    final = final_of(b"n=user,r=abc", server.evaluate(FIRST), b"y,,")
    with pytest.raises(SaslError, match=BAD_PASSWORD):
        server.evaluate(final.replace(b"c=eSws", b"c=biws"))


def test_a_proof_with_more_bytes_than_the_hash_is_refused() -> None:
    server = server_of()
    message, _, proof = final_of(b"n=user,r=abc", server.evaluate(FIRST), b"n,,").rpartition(b",p=")
    with pytest.raises(SaslError, match=BAD_PASSWORD):
        server.evaluate(message + b",p=" + b64encode(b64decode(proof) + b"\0"))


@given(st.lists(st.binary(max_size=40) | st.sampled_from([FIRST, b"c=biws,r=abc3rfcNHYJY1ZVvWVs7j,p="]), max_size=3))
def test_any_tokens_raise_nothing_but_a_sasl_error(tokens: list[bytes]) -> None:
    server = server_of()
    for token in tokens:
        try:
            server.evaluate(token)
        except SaslError:
            break
    assert not server.is_complete


@given(st.from_regex(r"n,(a=user)?,n=[=,23CDuser]{1,8},r=[ -~]{1,8}(,[a-z]{0,2}=?[ -~]{0,3}){0,2}", fullmatch=True))
def test_tokens_of_nearly_the_right_form_raise_nothing_but_a_sasl_error(token: str) -> None:
    try:
        answer = server_of().evaluate(token.encode())
    except SaslError:
        return
    assert answer.startswith(b"r=")


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda row: row.name)
def test_a_credential_matches_its_password_alone(mechanism: ScramMechanism) -> None:
    credential = credential_of(mechanism, "pässwörd", b"salt", 4096)
    assert matches(mechanism, credential, "pässwörd")
    assert not matches(mechanism, credential, "passwort")
    salted_password = pbkdf2_hmac(mechanism.hash_name, "pässwörd".encode(), b"salt", 4096)
    assert credential_from_salted_password(mechanism, salted_password, b"salt", 4096) == credential


def test_mechanisms_are_found_by_name_and_by_number() -> None:
    assert BY_NAME == {"SCRAM-SHA-256": SCRAM_SHA_256, "SCRAM-SHA-512": SCRAM_SHA_512}
    assert BY_TYPE == {1: SCRAM_SHA_256, 2: SCRAM_SHA_512}
