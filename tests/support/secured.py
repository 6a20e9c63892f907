"""A daemon with a listener of each kind, an authority and a user.

The listeners are PLAIN (PLAINTEXT, for administration), SSL, MTLS (client certificates), SASL (SASL_PLAINTEXT),
SASL_SSL, and SHORT (SASL_PLAINTEXT, where a login lasts for 1.5 s).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from coordinator.security.credentials import document_of
from coordinator.security.scram import BY_NAME, credential_of
from coordinator.storage.file_names import USERS_NAME
from tests.support.certificates import Authority
from tests.support.daemon import Daemon
from tests.support.tokens import ISSUER

LISTENERS: Final = {
    "PLAIN": "PLAINTEXT",
    "SSL": "SSL",
    "MTLS": "SSL",
    "SASL": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
    "SHORT": "SASL_PLAINTEXT",
}
MECHANISMS: Final = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
USER: Final = "alice"
PASSWORD: Final = "wonder=land, of \N{SNOWMAN}"
REAUTH_MS: Final = 1500


class Listening(Daemon):
    """A daemon with several listeners, given as their security protocols by name. Its `ports` are by name, too."""

    def __init__(
        self, directory: Path, listeners: Mapping[str, str], settings: Mapping[str, str], **others: Any
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.settings = directory / "server.properties"
        protocols = ",".join(f"{name}:{kind}" for name, kind in listeners.items())
        lines = {"listener.security.protocol.map": protocols, **settings}
        self.settings.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        super().__init__(directory, arguments=["--config", str(self.settings)], **others)
        self.data_dir.mkdir()
        self.ports = dict.fromkeys(listeners, 0)

    @property
    def listen(self) -> str:
        return ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports.items())

    def await_ready(self) -> Daemon:
        super().await_ready()
        *_, line = (line for line in self.log_lines() if " ready listen=" in line)
        listened = line.partition("listen=")[2].partition(" ")[0].split(",")
        self.ports = {name: int(address.rpartition(":")[2]) for name, address in zip(self.ports, listened, strict=True)}
        return self


class Secured(Listening):
    """A daemon with all listeners. `keys_url`: of the JWKS of an issuer; without it no tokens are taken."""

    def __init__(self, directory: Path, keys_url: str = "", **others: Any) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.authority = Authority(directory)
        self.server = self.authority.issue("server")
        settings = {
            "ssl.keystore.location": str(self.server.pem),
            "ssl.truststore.location": str(self.authority.pem),
            "ssl.store.check.ms": "100",
            "listener.name.mtls.ssl.client.auth": "required",
            "listener.name.mtls.ssl.principal.mapping.rules": "RULE:^CN=(.*?)(,.*)?$/$1/,DEFAULT",
            "sasl.enabled.mechanisms": MECHANISMS if keys_url else MECHANISMS.removesuffix(",OAUTHBEARER"),
            "sasl.oauthbearer.jwks.endpoint.url": keys_url,
            "sasl.oauthbearer.expected.issuer": ISSUER,
            "sasl.oauthbearer.allow.unverified.audience": "true",
            "listener.name.short.connections.max.reauth.ms": str(REAUTH_MS),
        }
        super().__init__(directory, LISTENERS, settings, **others)
        credentials = {row: credential_of(row, PASSWORD, row.name.encode(), 4096) for row in BY_NAME.values()}
        (self.data_dir / USERS_NAME).write_text(document_of({USER: credentials}))
