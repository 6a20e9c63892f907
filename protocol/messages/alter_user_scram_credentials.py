"""AlterUserScramCredentials: set and remove the SCRAM credentials of users (KIP-554)."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BYTES, INT8, INT16, INT32, NULLABLE_STRING, STRING, array, field, message, struct


@struct
class ScramCredentialDeletion:
    name: str = field(STRING)
    mechanism: int = field(INT8)


@struct
class ScramCredentialUpsertion:
    name: str = field(STRING)
    mechanism: int = field(INT8)
    iterations: int = field(INT32)
    salt: bytes = field(BYTES)
    salted_password: bytes = field(BYTES)


@message(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible_since=0)
class AlterUserScramCredentialsRequest:
    """Remove some credentials, and set some."""

    deletions: list[ScramCredentialDeletion] = field(array(ScramCredentialDeletion))
    upsertions: list[ScramCredentialUpsertion] = field(array(ScramCredentialUpsertion))


@struct
class AlterUserScramCredentialsResult:
    user: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)


@message(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible_since=0)
class AlterUserScramCredentialsResponse:
    """The outcome for each user."""

    throttle_time_ms: int = field(INT32)
    results: list[AlterUserScramCredentialsResult] = field(array(AlterUserScramCredentialsResult))
