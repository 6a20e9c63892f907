"""The keys of the issuer whose tokens one listener takes, read at the start and now and then."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.security.jwks import Jwks, JwksError
from coordinator.security.token_validator import TokenValidator
from coordinator.server.startup import StartupError

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordinator.config.config import Config

CHECK_S: Final = 1.0


class TokenKeys(NamedTuple):
    keys: Jwks
    validator: TokenValidator

    @classmethod
    async def load(cls, listener: str, config: Config, wall_ms: Callable[[], int]) -> TokenKeys:
        """Read the keys. `config`: as it is for the listener. Raises StartupError."""
        try:
            keys = Jwks(
                config.sasl_oauthbearer_jwks_endpoint_url,
                refresh_ms=config.sasl_oauthbearer_jwks_endpoint_refresh_ms,
                retry_backoff_ms=config.sasl_oauthbearer_jwks_endpoint_retry_backoff_ms,
                retry_backoff_max_ms=config.sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms,
            )
            await asyncio.get_running_loop().run_in_executor(None, keys.load)
        except JwksError as error:
            raise StartupError(f"listener {listener}: {error}") from None
        audiences = (each.strip() for each in config.sasl_oauthbearer_expected_audience.split(","))
        validator = TokenValidator(
            keys,
            now_ms=wall_ms,
            expected_audience=[each for each in audiences if each],
            expected_issuer=config.sasl_oauthbearer_expected_issuer,
            scope_claim_name=config.sasl_oauthbearer_scope_claim_name,
            sub_claim_name=config.sasl_oauthbearer_sub_claim_name,
            clock_skew_seconds=config.sasl_oauthbearer_clock_skew_seconds,
        )
        return cls(keys, validator)

    async def renew(self) -> None:
        """Read the keys again whenever they are old."""
        while True:
            await asyncio.sleep(CHECK_S)
            if self.keys.is_stale():
                await asyncio.get_running_loop().run_in_executor(None, self.keys.refresh)
