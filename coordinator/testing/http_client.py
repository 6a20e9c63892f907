"""The client of the verbs over HTTP."""

from __future__ import annotations

import ssl
import urllib.parse
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import msgspec

from coordinator.http.client import HttpAddress, HttpAnswer, HttpClientError, HttpFailure, ask_http, parse_http_address
from coordinator.security.tls import client_context
from coordinator.security.tls_settings import TlsError, TlsSettings
from coordinator.testing.errors import CoordinatorTestingError, NotInTimeError, VerbTokenError
from coordinator.testing.http import GIVE_UP_S, PREFIX

LONGEST_S: Final = GIVE_UP_S + 10.0  # until the server has answered in any case
_REMEDIES: Final = {
    HttpFailure.NO_ANSWER: "start it, or give the address of its HTTP port",
    HttpFailure.NOT_TRUSTED: "give the authority that signed it as `tls`, or use a host name that is in it",
    HttpFailure.NOT_LET_IN: "if it wants a certificate of its clients, give an ssl.SSLContext with one as `tls`",
}


def post_verb(
    address: str,
    verb: str,
    query: Sequence[tuple[str, str]],
    token: str = "",
    timeout_s: float = 60.0,
    tls: ssl.SSLContext | Path | str | None = None,
) -> Any:
    """Have a server do a verb; return its result as JSON has it.

    `address`: host:port, or https://host:port for a port with TLS. `token`: its test.verbs.token. `tls`: a PEM file of
    the authorities to trust, or a context; without it, the authorities of the system are trusted.

    Raises:
        NotInTimeError: a wait ended without what it waited for
        VerbTokenError: the server asks for another token
        CoordinatorTestingError: the verb cannot be done; the message is the server's
        HttpClientError: no server answers, or not to this client (an OSError)
        ConfigError: the address is none
    """
    server = parse_http_address(address)
    form = urllib.parse.urlencode(query, errors="surrogateescape").encode()
    try:
        answer = ask_http(
            server,
            "POST",
            f"{PREFIX}{verb}",
            form=form,
            token=token,
            context=_context(server, tls),
            timeout_s=timeout_s,
        )
    except HttpClientError as error:
        raise HttpClientError(error.kind, error.fact, _REMEDIES.get(error.kind, "")) from None
    if answer.status == HTTPStatus.OK:
        return msgspec.json.decode(answer.body)
    if answer.status == HTTPStatus.UNAUTHORIZED:
        problem = "does not take this token" if token else "asks for a token"
        raise VerbTokenError(f"{server} {problem}; give its test.verbs.token as `token`")
    kind = NotInTimeError if answer.status == HTTPStatus.REQUEST_TIMEOUT else CoordinatorTestingError
    raise kind(_sentence(answer, server))


def _context(server: HttpAddress, tls: ssl.SSLContext | Path | str | None) -> ssl.SSLContext | None:
    if not server.has_tls or isinstance(tls, ssl.SSLContext):
        return tls if isinstance(tls, ssl.SSLContext) else None
    try:
        return client_context(TlsSettings(truststore_location="" if tls is None else str(tls)))
    except TlsError as error:
        raise CoordinatorTestingError(f"`tls` cannot be used: {error}") from None


def _sentence(answer: HttpAnswer, server: HttpAddress) -> str:
    try:
        return str(msgspec.json.decode(answer.body)["error"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return f"{server} is not the HTTP port of a coordinator: it answers {answer.status} {answer.reason}"
