"""The exchange of OAUTHBEARER: messages of real clients, malformed ones, refusals, and work that blocks."""

from __future__ import annotations

import pytest
from aiokafka.abc import AbstractTokenProvider
from aiokafka.conn import OAuthAuthenticator
from hypothesis import example, given
from hypothesis import strategies as st
from kafka.net.sasl import oauth as kafka_python

from coordinator.security.oauthbearer import OAuthBearerServer, parse_initial_response
from coordinator.security.sasl_server import Blocking, SaslAuthenticationError, SaslError
from coordinator.security.token_validator import TokenError, ValidToken

ALICE = ValidToken("alice", 1_700_000_060_000, frozenset())
REFUSED = b'{"status":"invalid_token"}'
EXTENSIONS = {"logicalCluster": "lkc-1", "traceId": "a=b, c"}


def validate(token: str) -> ValidToken:
    if token != "good.to.ken":
        raise TokenError("the token expired")
    return ALICE


@pytest.fixture
def server() -> OAuthBearerServer:
    return OAuthBearerServer(validate)


def first(token: str = "good.to.ken", authzid: str = "") -> bytes:
    return f"n,{authzid},\x01auth=Bearer {token}\x01\x01".encode()


def assert_accepted(server: OAuthBearerServer, answer: object) -> None:
    assert answer == b""
    assert (server.is_complete, server.user, server.expires_ms) == (True, "alice", 1_700_000_060_000)


@pytest.mark.parametrize(
    "message",
    [
        first(),
        first(authzid="a=alice"),
        b"n,,\x01auth=bearer   good.to.ken\x01\x01",
        b"n,,\x01host=server.example\x01port=143\x01auth=Bearer good.to.ken\x01\x01",
        b"n,,\x01auth=Bearer other\x01auth=Bearer good.to.ken\x01\x01",
        b"n,,\x01auth=Bearer good.to.ken\x01a=\t \r\n=\x01\x01",
    ],
)
def test_a_valid_token_completes_the_exchange(server: OAuthBearerServer, message: bytes) -> None:
    assert (server.is_complete, server.user, server.expires_ms) == (False, "", -1)
    assert_accepted(server, server.evaluate(message))


def test_a_refused_token_is_answered_with_json_and_ends_with_the_acknowledgement(server: OAuthBearerServer) -> None:
    assert server.evaluate(first("bad")) == REFUSED
    assert str(server.refusal) == "the token expired"
    with pytest.raises(SaslAuthenticationError) as raised:
        server.evaluate(b"\x01")
    assert str(raised.value).encode() == REFUSED
    assert not server.is_complete


def test_another_token_may_follow_a_refused_one(server: OAuthBearerServer) -> None:
    assert server.evaluate(first("bad")) == REFUSED
    assert_accepted(server, server.evaluate(first()))
    assert server.refusal is None


def test_another_user_than_that_of_the_token_is_refused(server: OAuthBearerServer) -> None:
    with pytest.raises(SaslAuthenticationError) as raised:
        server.evaluate(first(authzid="a=root"))
    assert str(raised.value) == (
        "Authentication failed: Client requested an authorization id (root) that is different from the token's "
        "principal name (alice)"
    )
    assert not server.is_complete


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer good.to.ken\x01",
        b"n,,\x01auth=Bearer good.to.ken\x01\x01\n",
        b"y,,\x01auth=Bearer good.to.ken\x01\x01",
        b"p=tls-unique,,\x01auth=Bearer good.to.ken\x01\x01",
        b"n,\x01auth=Bearer good.to.ken\x01\x01",
        b"n,alice,\x01auth=Bearer good.to.ken\x01\x01",
        b"n,a=,\x01auth=Bearer good.to.ken\x01\x01",
        b"n,a=al,ice,\x01auth=Bearer good.to.ken\x01\x01",
        b"n,a=al=2Xice,\x01auth=Bearer good.to.ken\x01\x01",
        "n,a=ålice,\x01auth=Bearer good.to.ken\x01\x01".encode(),
        b"n,,\x01host=server.example\x01\x01",
        b"n,,\x01auth=Basic good.to.ken\x01\x01",
        b"n,,\x01auth=good.to.ken\x01\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Bearer a b\x01\x01",
        b"n,,\x01auth=Bearer a=b\x01\x01",
        b"n,,\x01auth=Bearer good.to.ken\n\x01\x01",
        b"n,,\x01Auth=Bearer good.to.ken\x01\x01",
        b"n,,\x01auth=Bearer good.to.ken\x01port=\x01\x01",
        b"n,,\x01auth=Bearer good.to.ken\x0119=42\x01\x01",
        b"n,,\x01auth=Bearer good.to.ken\x01a b=42\x01\x01",
        b"n,,\x01auth=Bearer good.to.ken\x01a=\x7f\x01\x01",
        b"n,,\x01auth=Bearer good.to.ken\x01auth=\x01\x01",
        b"\xff",
    ],
)
def test_a_malformed_message_is_refused_and_its_reason_is_not_told(server: OAuthBearerServer, message: bytes) -> None:
    with pytest.raises(SaslError) as raised:
        server.evaluate(message)
    assert not isinstance(raised.value, SaslAuthenticationError)
    assert "good" not in str(raised.value)
    assert not server.is_complete


def test_an_authorization_id_is_taken_as_it_was_sent() -> None:
    assert parse_initial_response(first(authzid="a=a=2Cb=3Dc")) == ("good.to.ken", "a=2Cb=3Dc")


def test_a_token_may_have_all_characters_of_rfc_6750() -> None:
    token = "vF-9.df_t4qm~Tc2Nvb3RlckBhbHR+hdmlzdGEuY29/tCg=="
    assert parse_initial_response(first(token)) == (token, "")


@pytest.mark.parametrize(("token", "answer"), [("good.to.ken", b""), ("bad", REFUSED)])
def test_work_that_blocks_is_handed_to_the_caller(token: str, answer: bytes) -> None:
    server = OAuthBearerServer(lambda text: lambda: validate(text))
    rest = server.evaluate(first(token))
    assert isinstance(rest, Blocking)
    assert not server.is_complete
    assert rest.run() == answer
    assert server.is_complete == (answer == b"")
    if answer:
        with pytest.raises(SaslAuthenticationError, match="invalid_token"):
            server.evaluate(b"\x01")


def test_another_user_is_also_refused_by_work_that_blocks() -> None:
    rest = OAuthBearerServer(lambda text: lambda: validate(text)).evaluate(first(authzid="a=root"))
    assert isinstance(rest, Blocking)
    with pytest.raises(SaslAuthenticationError, match=r"authorization id \(root\)"):
        rest.run()


class OfAiokafka(AbstractTokenProvider):
    """Gives one token and two extensions."""

    async def token(self) -> str:
        return "good.to.ken"

    def extensions(self) -> dict[str, str]:
        return EXTENSIONS


async def test_the_message_of_aiokafka_is_accepted(server: OAuthBearerServer) -> None:
    message, _ = await OAuthAuthenticator(sasl_oauth_token_provider=OfAiokafka()).step(None)
    assert_accepted(server, server.evaluate(message))


class OfKafkaPython(kafka_python.AbstractTokenProvider):  # type: ignore[misc]
    """Gives the token `value` and two extensions."""

    def __init__(self, value: str) -> None:
        self.value = value

    def token(self) -> str:
        return self.value

    def extensions(self) -> dict[str, str]:
        return EXTENSIONS


def test_kafka_python_is_accepted_and_acknowledges_a_refusal(server: OAuthBearerServer) -> None:
    client = kafka_python.SaslMechanismOAuth(sasl_oauth_token_provider=OfKafkaPython("bad"))
    client.receive(server.evaluate(client.auth_bytes()))
    with pytest.raises(SaslAuthenticationError, match="invalid_token"):
        server.evaluate(client.auth_bytes())
    client = kafka_python.SaslMechanismOAuth(sasl_oauth_token_provider=OfKafkaPython("good.to.ken"))
    client.receive(server.evaluate(client.auth_bytes()))
    assert client.is_authenticated()
    assert server.is_complete


PIECES = st.sampled_from(
    [b"n,", b"a=", b"alice", b",", b"\x01", b"auth=", b"Bearer ", b"bearer  ", b"good.to.ken", b"=", b"host=x\x01"]
)


@given(st.lists(st.binary(max_size=30) | st.lists(PIECES, max_size=12).map(b"".join), max_size=3))
@example([b"\x01"])
@example([first("bad"), b"\x01"])
def test_any_messages_are_answered_or_end_with_a_sasl_error(messages: list[bytes]) -> None:
    server = OAuthBearerServer(validate)
    for message in messages:
        try:
            answer = server.evaluate(message)
        except SaslError:
            assert not server.is_complete
            return
        assert (answer == b"") == server.is_complete == (b"auth=" in message and b"good.to.ken" in message)
        if server.is_complete:
            return
