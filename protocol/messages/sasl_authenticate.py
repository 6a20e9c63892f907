"""SaslAuthenticate: one token of the SASL exchange."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BYTES, INT16, INT64, NULLABLE_STRING, field, message


@message(ApiKey.SASL_AUTHENTICATE, versions=(0, 2), flexible_since=2)
class SaslAuthenticateRequest:
    """Send the next token."""

    auth_bytes: bytes = field(BYTES)


@message(ApiKey.SASL_AUTHENTICATE, versions=(0, 2), flexible_since=2)
class SaslAuthenticateResponse:
    """The answer of the mechanism, and how long the session may last."""

    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    auth_bytes: bytes = field(BYTES)
    session_lifetime_ms: int = field(INT64, since=1)
