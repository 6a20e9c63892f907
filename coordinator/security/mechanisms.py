"""The SASL mechanisms of one listener: who may log in there, and by which exchange.

PLAIN takes the users of the configuration, and those of `coordinator users`: their SCRAM credentials tell whether a
password is right. An unknown name takes as long as a wrong password.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.config.security import parse_mechanisms
from coordinator.security.oauthbearer import OAUTHBEARER, OAuthBearerServer
from coordinator.security.plain import PlainServer, StaticUsers, jaas_users
from coordinator.security.principal import USER
from coordinator.security.scram import BY_NAME, MIN_ITERATIONS, SCRAM_SHA_256, ScramServer, credential_of, matches

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordinator.config.config import Config
    from coordinator.security.credentials import Credentials
    from coordinator.security.sasl_server import SaslServer
    from coordinator.security.token_validator import TokenValidator

PLAIN: Final = "PLAIN"
# Clients are told the mechanisms in the order of Kafka's HashSet. Two of them have the order of the configuration.
_IN_KAFKAS_SET: Final = {PLAIN: 0, "SCRAM-SHA-512": 0, "SCRAM-SHA-256": 1, OAUTHBEARER: 2}


class ListenerMechanisms:
    """Implements `coordinator.security.authenticator.Mechanisms`. Raises ValueError for a broken JAAS text.

    `config`: as it is for the listener. `nonce()` returns a new random text of a SCRAM exchange.
    """

    principal_type: Final = USER

    def __init__(
        self, config: Config, credentials: Credentials, nonce: Callable[[], str], tokens: TokenValidator | None
    ) -> None:
        self.enabled = sorted(parse_mechanisms(config.sasl_enabled_mechanisms), key=_IN_KAFKAS_SET.__getitem__)
        self._max_lifetime_ms = config.connections_max_reauth_ms
        self._credentials = credentials
        self._nonce = nonce
        self._tokens = tokens
        users = jaas_users(config.plain_sasl_jaas_config) if config.plain_sasl_jaas_config else {}
        self._configured, self._static = frozenset(users), StaticUsers(users)
        self._unknown = credential_of(SCRAM_SHA_256, "", b"unknown user", MIN_ITERATIONS)

    def server(self, mechanism: str) -> SaslServer:
        """Return the server side of a new exchange."""
        if mechanism == PLAIN:
            return PlainServer(self._is_right)
        if mechanism == OAUTHBEARER and self._tokens is not None:
            return OAuthBearerServer(self._tokens.validate)
        row = BY_NAME[mechanism]
        return ScramServer(row, lambda user: self._credentials.of(user, row), self._nonce())

    def max_lifetime_ms(self, mechanism: str) -> int:
        """Return connections.max.reauth.ms."""
        return self._max_lifetime_ms

    def _is_right(self, user: str, password: str) -> bool:
        """Return whether this is the password of a user. Blocks for the hashes of a SCRAM credential."""
        if user in self._configured:
            return self._static.check(user, password)
        found = self._credentials.any_of(user)
        mechanism, credential = found or (SCRAM_SHA_256, self._unknown)
        return matches(mechanism, credential, password) and found is not None
