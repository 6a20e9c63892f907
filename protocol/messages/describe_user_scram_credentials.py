"""DescribeUserScramCredentials: which SCRAM credentials users have (KIP-554)."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT8, INT16, INT32, NULLABLE_STRING, STRING, array, field, message, nullable_array, struct


@struct
class UserName:
    name: str = field(STRING)


@message(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible_since=0)
class DescribeUserScramCredentialsRequest:
    """Ask for some users. None or an empty list asks for all."""

    users: list[UserName] | None = field(nullable_array(UserName))


@struct
class CredentialInfo:
    mechanism: int = field(INT8)
    iterations: int = field(INT32)


@struct
class DescribeUserScramCredentialsResult:
    user: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    credential_infos: list[CredentialInfo] = field(array(CredentialInfo))


@message(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible_since=0)
class DescribeUserScramCredentialsResponse:
    """The mechanisms of each user, without anything that is secret."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    results: list[DescribeUserScramCredentialsResult] = field(array(DescribeUserScramCredentialsResult))
