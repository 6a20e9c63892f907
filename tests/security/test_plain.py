"""The server side of PLAIN, and the users of a JAAS text."""

from __future__ import annotations

import pytest
from aiokafka.conn import SaslPlainAuthenticator
from hypothesis import given
from hypothesis import strategies as st
from kafka.net.sasl.plain import SaslMechanismPlain

from coordinator.security.plain import PlainServer, StaticUsers, jaas_users
from coordinator.security.sasl_server import SaslAuthenticationError

USERS = StaticUsers({"alice": "secret", "jürgen": "pässwörd €", "empty": ""})
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"

BAD_PASSWORD = "Authentication failed: Invalid username or password"
NO_USER = "Authentication failed: username not specified"
NO_PASSWORD = "Authentication failed: password not specified"
OTHER_AUTHZID = "Authentication failed: Client requested an authorization id that is different from username"
BAD_JAAS = f'the text is not one JAAS entry with quoted values; write {MODULE} required user_NAME="PASSWORD";'


def kafka_python(user: str, password: str) -> bytes:
    return SaslMechanismPlain(sasl_plain_username=user, sasl_plain_password=password).auth_bytes()


def aiokafka(user: str, password: str) -> bytes:
    client = SaslPlainAuthenticator(loop=None, sasl_plain_password=password, sasl_plain_username=user)
    return bytes(client.authenticator_plain().send(None)[0])


@pytest.mark.parametrize(
    ("token", "user"),
    [
        (b"\0alice\0secret", "alice"),
        (b"alice\0alice\0secret", "alice"),
        (kafka_python("jürgen", "pässwörd €"), "jürgen"),
        (aiokafka("jürgen", "pässwörd €"), "jürgen"),
    ],
)
def test_the_right_password_is_accepted_once_it_is_checked(token: bytes, user: str) -> None:
    server = PlainServer(USERS.check)
    rest = server.evaluate(token)
    assert (server.user, server.is_complete) == ("", False)
    assert rest.run() == b""
    assert (server.mechanism, server.user, server.is_complete, server.expires_ms) == ("PLAIN", user, True, -1)


@pytest.mark.parametrize(
    ("token", "text"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"alice", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\0alice", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0alice\0secret\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0\0\0\0\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0", NO_USER),
        (b"alice\0\0secret", NO_USER),
        (b"\0alice\0", NO_PASSWORD),
        (b"bob\0alice\0", NO_PASSWORD),
    ],
)
def test_a_malformed_token_is_refused_at_once(token: bytes, text: str) -> None:
    with pytest.raises(SaslAuthenticationError) as raised:
        PlainServer(USERS.check).evaluate(token)
    assert str(raised.value) == text


@pytest.mark.parametrize(
    ("token", "text"),
    [
        pytest.param(b"\0alice\0Secret", BAD_PASSWORD, id="wrong password"),
        pytest.param(b"\0bob\0secret", BAD_PASSWORD, id="unknown user"),
        pytest.param(b"\0alice \0secret", BAD_PASSWORD, id="nearly the name"),
        pytest.param(b"\0alice\0\xff", BAD_PASSWORD, id="no UTF-8"),
        pytest.param(b"bob\0alice\0Secret", BAD_PASSWORD, id="password before authzid"),
        pytest.param(b"bob\0alice\0secret", OTHER_AUTHZID, id="other authzid"),
    ],
)
def test_a_client_that_fails_the_check_is_refused(token: bytes, text: str) -> None:
    server = PlainServer(USERS.check)
    rest = server.evaluate(token)
    with pytest.raises(SaslAuthenticationError) as raised:
        rest.run()
    assert str(raised.value) == text
    assert (server.user, server.is_complete) == ("", False)


def test_broken_utf_8_is_replaced_before_the_check() -> None:
    seen: list[tuple[str, str]] = []
    server = PlainServer(lambda user, password: not seen.append((user, password)))
    server.evaluate(b"\0al\xffice\0\xe2\x82").run()
    assert seen == [("al\ufffdice", "\ufffd")]


@given(st.binary(max_size=40) | st.lists(st.sampled_from([b"\0", b"alice", b"secret", b"\xff"])).map(b"".join))
def test_any_token_raises_nothing_but_a_sasl_error(token: bytes) -> None:
    server = PlainServer(USERS.check)
    try:
        server.evaluate(token).run()
    except SaslAuthenticationError:
        return
    assert token in (b"\0alice\0secret", b"alice\0alice\0secret")


@pytest.mark.parametrize(
    ("user", "password", "is_right"),
    [
        ("alice", "secret", True),
        ("alice", "secre", False),
        ("alice", "", False),
        ("bob", "secret", False),
        ("bob", "", False),
        ("jürgen", "pässwörd €", True),
        ("empty", "", True),
    ],
)
def test_static_users_have_exactly_their_passwords(user: str, password: str, is_right: bool) -> None:
    assert USERS.check(user, password) is is_right


@pytest.mark.parametrize(
    ("text", "users"),
    [
        (
            f'{MODULE} required username="admin" password="x" user_admin="a" user_alice="b";',
            {"admin": "a", "alice": "b"},
        ),
        (f"{MODULE} REQUIRED;", {}),
        (f"\n\t{MODULE}\nsufficient\n user_a\n=\n'b' ;\n", {"a": "b"}),
        (f'{MODULE} requisite user_a="1"user_a="2";', {"a": "2"}),
        (f"{MODULE} optional user_a-b.c=w-1.$_é;", {"a-b.c": "w-1.$_é"}),
        (f'{MODULE} required "user_a@b"="c d" user_="e";', {"a@b": "c d", "": "e"}),
        (rf"""{MODULE} required user_a="it's \"q\" = ; //\\" user_b='"';""", {"a": 'it\'s "q" = ; //\\', "b": '"'}),
        (rf'{MODULE} required user_a="\101\1012\777\7\8\t\n\x\u0041";', {"a": "AA2?7\x078\t\nxu0041"}),
        (f'// users\n{MODULE} /* ; "*/ required user_a="b" // c="d"\n;/**/', {"a": "b"}),
        (f'"{MODULE}" "required" user_a="b";', {"a": "b"}),
    ],
)
def test_the_users_of_a_jaas_text(text: str, users: dict[str, str]) -> None:
    assert jaas_users(text) == users


@pytest.mark.parametrize(
    "text",
    [
        "",
        "secret",
        'user_a="secret";',
        f'{MODULE} user_a="secret";',
        f'{MODULE} must user_a="secret";',
        f'{MODULE} required user_a="secret"',
        f'{MODULE} required user_a="secret;',
        f'{MODULE} required user_a="sec\nret";',
        f"{MODULE} required user_a;",
        f"{MODULE} required user_a=;",
        f"{MODULE} required user_a=1secret;",
        f"{MODULE} required user_a=sec/ret;",
        f"{MODULE} required user_a@b=secret;",
        f'{MODULE} required user_a="secret", user_b="secret";',
        f'{MODULE} required user_a="secret"; {MODULE} required user_b="secret";',
        f'{MODULE} required user_a="secret"; /* c',
        f'{MODULE} requireduser_a="secret";',
        f'KafkaServer {{ {MODULE} required user_a="secret"; }};',
    ],
)
def test_a_broken_jaas_text_is_refused_without_a_word_of_it(text: str) -> None:
    with pytest.raises(ValueError) as raised:
        jaas_users(text)
    assert str(raised.value) == BAD_JAAS


def test_another_login_module_is_refused_by_name() -> None:
    with pytest.raises(ValueError) as raised:
        jaas_users('org.apache.kafka.common.security.scram.ScramLoginModule required user_a="secret";')
    assert str(raised.value) == (
        "the login module 'org.apache.kafka.common.security.scram.ScramLoginModule' is not served for PLAIN; "
        f'write {MODULE} required user_NAME="PASSWORD";'
    )


@given(
    st.lists(st.sampled_from([MODULE, " required ", "user_a", "=", '"', "'", "\\", ";", "//", "/*", "*/", "\n", "é"]))
)
def test_any_jaas_text_raises_nothing_but_a_value_error(words: list[str]) -> None:
    text = "".join(words)
    try:
        jaas_users(text)
    except ValueError:
        return
    assert MODULE in text and "required" in text and ";" in text
