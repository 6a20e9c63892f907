"""The decisions about users (KIP-554), with the codes and texts of Kafka's ScramControlManager and ScramImage."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import pbkdf2_hmac

import pytest

from coordinator.security import scram_changes
from coordinator.security.credentials import Users
from coordinator.security.scram import SCRAM_SHA_256, SCRAM_SHA_512, credential_of
from coordinator.security.scram_changes import alter, describe, refuse
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)

SALT = b"salt"
CREDENTIAL = credential_of(SCRAM_SHA_256, "old", SALT, 4096)
USERS: Users = {
    "both": {SCRAM_SHA_512: CREDENTIAL, SCRAM_SHA_256: CREDENTIAL._replace(iterations=8192)},
    "ann": {SCRAM_SHA_256: CREDENTIAL},
}
TWICE = "A user credential cannot be altered twice in the same request"
MISSING = "Attempt to delete a user credential that does not exist"

Results = list[tuple[str, int, str | None]]


def deletion(name: str = "ann", mechanism: int = 1) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name, mechanism)


def upsertion(
    name: str = "ann", mechanism: int = 1, iterations: int = 4096, salt: bytes = SALT, salted: bytes = b"salted"
) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(name, mechanism, iterations, salt, salted)


def altered(
    *alterations: ScramCredentialDeletion | ScramCredentialUpsertion, max_users: int = 100
) -> tuple[Users, Results]:
    request = AlterUserScramCredentialsRequest(
        deletions=[each for each in alterations if isinstance(each, ScramCredentialDeletion)],
        upsertions=[each for each in alterations if isinstance(each, ScramCredentialUpsertion)],
    )
    users, response = alter(request, max_users, USERS)
    return users, [(each.user, each.error_code, each.error_message) for each in response.results]


def test_a_credential_is_that_of_the_salted_password() -> None:
    salted = pbkdf2_hmac("sha512", b"secret", SALT, 5000)
    users, results = altered(upsertion("new", 2, 5000, salted=salted))
    assert users == {**USERS, "new": {SCRAM_SHA_512: credential_of(SCRAM_SHA_512, "secret", SALT, 5000)}}
    assert results == [("new", 0, None)]


def test_a_credential_is_replaced_and_that_of_another_mechanism_stays() -> None:
    users, _ = altered(upsertion("both", 1))
    assert users["both"][SCRAM_SHA_256].iterations == 4096 and users["both"][SCRAM_SHA_512] == CREDENTIAL


def test_a_user_without_credentials_is_gone() -> None:
    users, results = altered(deletion("both", 2), deletion("ann"))
    assert users == {"both": {SCRAM_SHA_256: CREDENTIAL._replace(iterations=8192)}}
    assert results == [("both", 0, None), ("ann", 0, None)]


@pytest.mark.parametrize(
    ("alteration", "code", "message"),
    [
        (deletion(""), 93, "Username must not be empty"),
        (upsertion("", 0), 93, "Username must not be empty"),
        (deletion(mechanism=0), 33, "Unknown SCRAM mechanism"),
        (upsertion(mechanism=3, iterations=1), 33, "Unknown SCRAM mechanism"),
        (deletion("eve"), 91, MISSING),
        (deletion("ann", 2), 91, MISSING),
        (upsertion(iterations=4095), 93, "Too few iterations"),
        (upsertion(iterations=16385), 93, "Too many iterations"),
        (upsertion(salted=b""), -1, None),
        (upsertion("n" * 1025), 93, "The name has more than 1024 characters; use a shorter one"),
        (upsertion(salt=b"s" * 1025), 93, "The salt has more than 1024 bytes; use a shorter one"),
    ],
)
def test_an_alteration_is_refused(
    alteration: ScramCredentialDeletion | ScramCredentialUpsertion, code: int, message: str | None
) -> None:
    users, results = altered(alteration)
    assert users is USERS
    assert results == [(alteration.name, code, message)]


@pytest.mark.parametrize(
    "alteration", [upsertion(iterations=16384), upsertion("n" * 1024), upsertion(salt=b"s" * 1024), upsertion(salt=b"")]
)
def test_an_alteration_at_a_bound_is_made(alteration: ScramCredentialUpsertion) -> None:
    assert altered(alteration)[1] == [(alteration.name, 0, None)]


@pytest.mark.parametrize(
    "alterations",
    [
        [deletion("both", 1), deletion("both", 2)],
        [deletion(), upsertion()],
        [upsertion(mechanism=1), upsertion(mechanism=2)],
        [upsertion(), upsertion(), upsertion(mechanism=0)],
    ],
)
def test_a_user_named_twice_is_not_altered(
    alterations: Sequence[ScramCredentialDeletion | ScramCredentialUpsertion],
) -> None:
    users, results = altered(*alterations)
    assert users is USERS
    assert results == [(alterations[0].name, ErrorCode.DUPLICATE_RESOURCE, TWICE)]


def test_the_first_error_of_a_user_counts() -> None:
    assert altered(deletion("new"), upsertion("new"))[1] == [("new", ErrorCode.RESOURCE_NOT_FOUND, MISSING)]


def test_removed_users_are_answered_first_and_refused_ones_last() -> None:
    users, results = altered(upsertion("new"), upsertion("", 1), deletion("ann"))
    assert users.keys() == {"both", "new"}
    assert [user for user, _, _ in results] == ["ann", "new", ""]


def test_there_are_as_many_users_as_allowed_and_one_more_is_refused() -> None:
    users, results = altered(upsertion("third"), upsertion("fourth"), upsertion("ann", 2), max_users=3)
    assert users.keys() == {"both", "ann", "third"} and SCRAM_SHA_512 in users["ann"]
    assert [(user, code) for user, code, _ in results] == [("third", 0), ("ann", 0), ("fourth", 93)]
    assert results[-1][2] == "There are 3 users already, and max.users is 3; remove users, or raise it"
    assert altered(deletion("ann"), upsertion("new"), max_users=2)[0].keys() == {"both", "new"}


def test_a_request_that_is_refused_names_each_user_once() -> None:
    request = AlterUserScramCredentialsRequest([deletion("a"), deletion("b")], [upsertion("a")])
    results = refuse(request, ErrorCode.KAFKA_STORAGE_ERROR, "why").results
    assert [(each.user, each.error_code, each.error_message) for each in results] == [
        ("a", 56, "why"),
        ("b", 56, "why"),
    ]


def described(names: list[str] | None) -> tuple[list[tuple[str, int, str | None, list[CredentialInfo]]], int]:
    """Describe users. Returns the results, and how often other events could run in between.

    Kafka leaves the text of a success empty here, and has none in the answer to an alteration.
    """
    response = DescribeUserScramCredentialsResponse()
    request = DescribeUserScramCredentialsRequest(None if names is None else [UserName(name) for name in names])
    steps = sum(1 for _ in describe(request, USERS, response))
    assert (response.error_code, response.error_message) == (0, "")
    return [(each.user, each.error_code, each.error_message, each.credential_infos) for each in response.results], steps


@pytest.mark.parametrize("names", [None, []])
def test_all_users_are_described_by_name(names: list[str] | None) -> None:
    assert described(names)[0] == [
        ("ann", 0, "", [CredentialInfo(1, 4096)]),
        ("both", 0, "", [CredentialInfo(1, 8192), CredentialInfo(2, 4096)]),
    ]


def test_named_users_are_described_in_their_order() -> None:
    both = "Cannot describe SCRAM credentials for the same user twice in a single request: both"
    missing = "Attempt to describe a user credential that does not exist: x"
    assert described(["x", "both", "ann", "both"])[0] == [
        ("x", ErrorCode.RESOURCE_NOT_FOUND, missing, []),
        ("both", ErrorCode.DUPLICATE_RESOURCE, both, []),
        ("ann", 0, "", [CredentialInfo(1, 4096)]),
    ]


def test_many_users_are_described_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scram_changes, "DESCRIBED_PER_STEP", 2)
    results, steps = described(["a", "b", "c", "ann", "both"])
    assert (len(results), steps) == (5, 2)
