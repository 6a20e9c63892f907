"""The TLS of one listener: its certificate, which is read again when its files change."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from coordinator.security.distinguished_name import principal_name
from coordinator.security.key_store import read_material
from coordinator.security.principal import ANONYMOUS, USER, Principal
from coordinator.security.principal_mapping import parse_rules
from coordinator.security.tls import server_context
from coordinator.security.tls_settings import TlsError, TlsSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordinator.config.config import Config
    from coordinator.security.key_store import Material

LOG: Final = logging.getLogger("coordinator.tls")

DAY_MS: Final = 86_400_000
SOON_MS: Final = 14 * DAY_MS


def tls_settings(config: Config) -> TlsSettings:
    """Return the TLS settings of one listener."""
    return TlsSettings(**{name: getattr(config, f"ssl_{name}") for name in TlsSettings._fields})


class TlsListener:
    """Holds the context for the next handshake. `config`: as it is for the listener. Raises TlsError."""

    def __init__(self, name: str, config: Config, wall_ms: Callable[[], int]) -> None:
        self._name = name
        self._settings = tls_settings(config)
        self._wall_ms = wall_ms
        self._check_s = config.ssl_store_check_ms / 1000
        self._refused = ""  # why the newest files are not used
        self.handshake_s = config.ssl_handshake_timeout_ms / 1000
        try:
            self._mapper = parse_rules(config.ssl_principal_mapping_rules)
        except ValueError as error:
            raise TlsError(f"ssl.principal.mapping.rules: {error}") from None
        material = read_material(self._settings)
        self.context = server_context(material, self._settings)
        self._fingerprint = material.fingerprint
        self._tell_dates(material)

    def principal_of(self, certificate: bytes | None) -> Principal:
        """Return the principal of a client's certificate (DER); None: it showed none. Raises NoMatchingRule."""
        return ANONYMOUS if certificate is None else Principal(USER, self._mapper.name_of(principal_name(certificate)))

    async def renew(self) -> None:
        """Look for changed files again and again. A store that cannot be used is named once, and changes nothing."""
        while True:
            await asyncio.sleep(self._check_s)
            await asyncio.get_running_loop().run_in_executor(None, self.check)

    def check(self) -> None:
        """Use the files if they have changed. Blocks."""
        try:
            material = read_material(self._settings)
            if material.fingerprint == self._fingerprint:
                self._refused = ""
                return
            context = server_context(material, self._settings)
        except TlsError as error:
            if self._refused != str(error):
                self._refused = str(error)
                LOG.error("the last good certificate stays in use listener=%s reason=%s", self._name, error)
            return
        self.context, self._fingerprint, self._refused = context, material.fingerprint, ""
        LOG.info("certificate replaced listener=%s", self._name)
        self._tell_dates(material)

    def _tell_dates(self, material: Material) -> None:
        now_ms = self._wall_ms()
        if material.not_before_ms > now_ms:
            LOG.warning("the certificate is not valid yet listener=%s; check the clock", self._name)
        days = (material.not_after_ms - now_ms) // DAY_MS
        if material.not_after_ms <= now_ms:
            LOG.warning("the certificate has expired listener=%s; replace it, clients refuse it", self._name)
        elif days * DAY_MS < SOON_MS:
            LOG.warning("the certificate expires soon listener=%s days=%d; replace it", self._name, days)
