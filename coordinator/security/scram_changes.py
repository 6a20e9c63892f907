"""The decisions of AlterUserScramCredentials and DescribeUserScramCredentials (KIP-554).

Pure. Codes and texts are Kafka's. Its order of results is that of a hash table, here it is that of the request, or of
the names if all users are described. Kafka has no bound of users, nor of the length of names and salts.
Source: Kafka's `ScramControlManager` and `ScramImage.describe`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from coordinator.security.scram import BY_TYPE, MAX_ITERATIONS, MIN_ITERATIONS, credential_from_salted_password
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordinator.security.credentials import Users

MAX_NAME_CHARS: Final = 1024
MAX_SALT_BYTES: Final = 1024
DESCRIBED_PER_STEP: Final = 500  # about a millisecond

Alteration: TypeAlias = ScramCredentialDeletion | ScramCredentialUpsertion


class Refusal(NamedTuple):
    """The reason why a user was not altered."""

    code: ErrorCode
    message: str | None


_TWICE: Final = Refusal(ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
_NO_NAME: Final = Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
_UNKNOWN_MECHANISM: Final = Refusal(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
_MISSING: Final = Refusal(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
_TOO_FEW_ITERATIONS: Final = Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
_TOO_MANY_ITERATIONS: Final = Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
_LONG_NAME: Final = Refusal(
    ErrorCode.UNACCEPTABLE_CREDENTIAL, f"The name has more than {MAX_NAME_CHARS} characters; use a shorter one"
)
_LONG_SALT: Final = Refusal(
    ErrorCode.UNACCEPTABLE_CREDENTIAL, f"The salt has more than {MAX_SALT_BYTES} bytes; use a shorter one"
)
_EMPTY_SALTED_PASSWORD: Final = Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, None)  # Java has no HMAC with an empty key


def alter(
    request: AlterUserScramCredentialsRequest, max_users: int, users: Users
) -> tuple[Users, AlterUserScramCredentialsResponse]:
    """Return the users after a request, and its answer. A request that alters no user returns the same object.

    A user is altered once, or not at all: two mechanisms take two requests.
    """
    accepted: dict[str, Alteration] = {}
    refused: dict[str, Refusal] = {}
    for each in _alterations(request):
        if each.name in refused:
            continue
        refusal = _TWICE if accepted.pop(each.name, None) else _refusal(each, users)
        if refusal is None:
            accepted[each.name] = each
        else:
            refused[each.name] = refusal

    altered = dict(users)
    response = AlterUserScramCredentialsResponse()
    for name, each in accepted.items():
        mechanism = BY_TYPE[each.mechanism]
        credentials = dict(altered.get(name, {}))
        if isinstance(each, ScramCredentialDeletion):
            del credentials[mechanism]
        elif not each.salted_password:
            refused[name] = _EMPTY_SALTED_PASSWORD
            continue
        elif name not in altered and len(altered) >= max_users:
            refused[name] = Refusal(
                ErrorCode.UNACCEPTABLE_CREDENTIAL,
                f"There are {len(altered)} users already, and max.users is {max_users}; remove users, or raise it",
            )
            continue
        else:
            credentials[mechanism] = credential_from_salted_password(
                mechanism, each.salted_password, each.salt, each.iterations
            )
        altered[name] = credentials
        if not credentials:
            del altered[name]
        response.results.append(AlterUserScramCredentialsResult(name, error_message=None))
    after = altered if response.results else users
    response.results += [AlterUserScramCredentialsResult(name, *refusal) for name, refusal in refused.items()]
    return after, response


def _alterations(request: AlterUserScramCredentialsRequest) -> list[Alteration]:
    return [*request.deletions, *request.upsertions]


def _refusal(alteration: Alteration, users: Users) -> Refusal | None:
    """Return the reason why an alteration is refused by itself; None if there is none."""
    if not alteration.name:
        return _NO_NAME
    mechanism = BY_TYPE.get(alteration.mechanism)
    if mechanism is None:
        return _UNKNOWN_MECHANISM
    if isinstance(alteration, ScramCredentialDeletion):
        return None if mechanism in users.get(alteration.name, {}) else _MISSING
    if alteration.iterations < MIN_ITERATIONS:
        return _TOO_FEW_ITERATIONS
    if alteration.iterations > MAX_ITERATIONS:
        return _TOO_MANY_ITERATIONS
    if len(alteration.name) > MAX_NAME_CHARS:
        return _LONG_NAME
    return _LONG_SALT if len(alteration.salt) > MAX_SALT_BYTES else None


def refuse(
    request: AlterUserScramCredentialsRequest, code: ErrorCode, message: str
) -> AlterUserScramCredentialsResponse:
    """Return the answer that no user was altered."""
    names = dict.fromkeys(each.name for each in _alterations(request))
    return AlterUserScramCredentialsResponse(
        results=[AlterUserScramCredentialsResult(name, code, message) for name in names]
    )


def describe(
    request: DescribeUserScramCredentialsRequest, users: Users, response: DescribeUserScramCredentialsResponse
) -> Iterator[None]:
    """Fill in the answer, in steps. None or an empty list of names means all users."""
    counts: dict[str, int] = {}
    for each in request.users or ():
        counts[each.name] = counts.get(each.name, 0) + 1
    for number, name in enumerate(counts or sorted(users), 1):
        response.results.append(_described(name, counts.get(name, 1), users))
        if number % DESCRIBED_PER_STEP == 0:
            yield


def _described(name: str, count: int, users: Users) -> DescribeUserScramCredentialsResult:
    if count > 1:
        return DescribeUserScramCredentialsResult(
            name,
            ErrorCode.DUPLICATE_RESOURCE,
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}",
        )
    if name not in users:
        return DescribeUserScramCredentialsResult(
            name,
            ErrorCode.RESOURCE_NOT_FOUND,
            f"Attempt to describe a user credential that does not exist: {name}",
        )
    infos = [CredentialInfo(mechanism.type, each.iterations) for mechanism, each in sorted(users[name].items())]
    return DescribeUserScramCredentialsResult(name, credential_infos=infos)
