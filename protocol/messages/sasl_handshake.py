"""SaslHandshake: choose the SASL mechanism. It never became flexible."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, STRING, array, field, message


@message(ApiKey.SASL_HANDSHAKE, versions=(0, 1))
class SaslHandshakeRequest:
    """Name the mechanism the client wants to use."""

    mechanism: str = field(STRING)


@message(ApiKey.SASL_HANDSHAKE, versions=(0, 1))
class SaslHandshakeResponse:
    """The outcome, and the mechanisms that are enabled."""

    error_code: int = field(INT16)
    mechanisms: list[str] = field(array(STRING))
