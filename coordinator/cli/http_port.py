"""The HTTP port of a daemon as commands reach it: `--http`, with the TLS and the token of --command-config.

A token is read from a file or the environment under the daemon's own name of it, and never from the command line, which
other users of the machine see.
"""

from __future__ import annotations

import os
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.cli.arguments import CONFIG_VARIABLE
from coordinator.cli.command_config import read_settings
from coordinator.cli.errors import CliError
from coordinator.config.environment import variable_of
from coordinator.http.client import HttpAnswer, HttpClientError, HttpFailure, ask_http, parse_http_address
from coordinator.security.client_settings import ClientSettingsError, client_security
from coordinator.security.tls import client_context
from coordinator.security.tls_settings import TlsError

if TYPE_CHECKING:
    import ssl

CONSOLE_TOKEN: Final = "http.token"
VERBS_TOKEN: Final = "test.verbs.token"


class HttpSettings(NamedTuple):
    """The way into one HTTP port. `token`: the value of `token_key`; empty if there is none."""

    address: str
    path: Path | None
    context: ssl.SSLContext | None
    token_key: str
    token: str

    def __repr__(self) -> str:
        """Return a text without the token."""
        return f"HttpSettings({self.address!r}, {str(self.path)!r}, {self.token_key}, ...)"

    @property
    def file(self) -> str:
        """The file of the settings, in words."""
        return (
            f"a file, and give that by --command-config or {CONFIG_VARIABLE}" if self.path is None else str(self.path)
        )

    def wrong_token(self) -> CliError:
        """Return what to say of an answer with status 401."""
        if self.token:
            return CliError(
                f"{self.address} does not take this {self.token_key}; correct it in {variable_of(self.token_key)}, or "
                f"in the file of --command-config"
            )
        return CliError(
            f"{self.address} asks for its {self.token_key}; set it in {variable_of(self.token_key)}, or write "
            f"`{self.token_key}=...` into {self.file}"
        )

    def unreachable(self, error: HttpClientError, if_silent: str) -> CliError:
        """Return what to say of a failure. `if_silent`: what to do if nothing answers at the address."""
        match error.kind:
            case HttpFailure.NO_ANSWER:
                remedy = if_silent
            case HttpFailure.NOT_TRUSTED:
                remedy = (
                    "use a host name that is in it, or write ssl.truststore.location with the authority that signed it "
                    f"into {self.file}"
                )
            case HttpFailure.NOT_LET_IN:
                remedy = (
                    "if it wants a certificate of its clients, write ssl.keystore.location with one that it trusts "
                    f"into {self.file}"
                )
            case HttpFailure.WRONG_TOKEN:
                return CliError(f"{self.token_key}: {error.fact}")
            case HttpFailure.WRONG_SCHEME:
                return CliError(f"{error.fact} after --http")
        return CliError(f"{error.fact}; {remedy}")


def http_settings(address: str, path: Path | None, token_key: str) -> HttpSettings:
    """Return the settings for an address. The variable of a token is stronger than the file, as for the daemon.

    Raises CliError, and ConfigError for an address that is none.
    """
    facts = {} if path is None else read_settings(path)
    token = os.environ.get(variable_of(token_key), "") or facts.get(token_key, "")
    context = None
    if parse_http_address(address).has_tls:
        try:
            security = client_security({**facts, "security.protocol": "SSL"})  # that of the file is of Kafka's port
            context = client_context(security.tls, security.endpoint_identification_algorithm)
        except (ClientSettingsError, TlsError) as error:
            raise CliError(f"{path}: {error}" if path is not None else str(error)) from None
    return HttpSettings(address, path, context, token_key, token.strip())


def ask_console(settings: HttpSettings, target: str, timeout_s: float) -> HttpAnswer:
    """Ask for a path of the console. The answer may have any status but 401. Raises CliError."""
    server = parse_http_address(settings.address)
    try:
        answer = ask_http(server, "GET", target, token=settings.token, context=settings.context, timeout_s=timeout_s)
    except HttpClientError as error:
        raise settings.unreachable(
            error, "give the address of the HTTP port of a daemon or of `coordinator observe`"
        ) from None
    if answer.status == HTTPStatus.UNAUTHORIZED:
        raise settings.wrong_token()
    return answer
