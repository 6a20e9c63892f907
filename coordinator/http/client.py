"""A blocking client of the HTTP port: one request, with or without TLS.

It asks the address itself, whatever `http_proxy` says, and follows no redirect: a token reaches no other server.
A failure has its kind, so that each caller says in its own words which setting or argument mends it.
"""

from __future__ import annotations

import ssl
from enum import Enum, auto
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final, NamedTuple

from coordinator.config.values import Address, ConfigError, parse_address
from coordinator.security.tls_probe import speaks_tls

_NO_TLS: Final = frozenset(("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST"))


class HttpFailure(Enum):
    """Kinds of failures. The sentence of WRONG_SCHEME and WRONG_TOKEN says already what to do."""

    NO_ANSWER = auto()
    WRONG_SCHEME = auto()
    WRONG_TOKEN = auto()
    NOT_TRUSTED = auto()
    NOT_LET_IN = auto()  # with TLS the connection was ended, as a port does that wants a certificate


class HttpClientError(OSError):
    """No answer came. The message is a sentence without the token: a fact, and what to do."""

    def __init__(self, kind: HttpFailure, fact: str, remedy: str = "") -> None:
        super().__init__(f"{fact}; {remedy}" if remedy else fact)
        self.kind: Final = kind
        self.fact: Final = fact


class HttpAddress(NamedTuple):
    """The address of an HTTP port."""

    address: Address
    has_tls: bool

    def __str__(self) -> str:
        return f"http{'s' if self.has_tls else ''}://{self.address}"


class HttpAnswer(NamedTuple):
    """An answer of any status."""

    status: int
    reason: str
    body: bytes


def parse_http_address(text: str) -> HttpAddress:
    """Parse `host:port`, `http://host:port` or `https://host:port`. Raises ConfigError."""
    scheme, separator, rest = text.strip().rpartition("://")
    if separator and scheme.lower() not in ("http", "https"):
        raise ConfigError(f"{text!r} is no address of HTTP; write host:port, or https://host:port for a port with TLS")
    return HttpAddress(parse_address(rest.removesuffix("/")), scheme.lower() == "https")


def ask_http(
    server: HttpAddress,
    method: str,
    target: str,
    *,
    form: bytes | None = None,
    token: str = "",
    context: ssl.SSLContext | None = None,
    timeout_s: float = 60.0,
) -> HttpAnswer:
    """Send a request, and return the answer. `form`: its body. `context`: of TLS, for an address that has it.

    Raises HttpClientError.
    """
    if any(ord(each) < 0x20 or ord(each) == 0x7F for each in token):
        raise HttpClientError(
            HttpFailure.WRONG_TOKEN, "the token has a line break or another control character; give the token alone"
        )
    headers = {"Authorization": f"Bearer {token}".encode("utf-8", "surrogateescape")} if token else {}
    host, port = server.address
    connection: HTTPConnection
    if server.has_tls:
        connection = HTTPSConnection(host, port, timeout=timeout_s, context=context)
    else:
        connection = HTTPConnection(host, port, timeout=timeout_s)
    try:
        if form is not None:
            headers["Content-Type"] = b"application/x-www-form-urlencoded"
        connection.request(method, target, form, headers)
        answer = connection.getresponse()
        return HttpAnswer(answer.status, answer.reason, answer.read())
    except (OSError, HTTPException, UnicodeError) as error:  # the last: no name of a host may be written so
        raise _failure(server, error) from None
    finally:
        connection.close()


def _failure(server: HttpAddress, error: Exception) -> HttpClientError:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error) or type(error).__name__
    if isinstance(error, ssl.SSLCertVerificationError):
        return HttpClientError(
            HttpFailure.NOT_TRUSTED, f"the certificate of {server} is not accepted ({error.verify_message})"
        )
    if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
        return HttpClientError(
            HttpFailure.WRONG_SCHEME, f"{server.address} does not speak TLS; write http://{server.address}"
        )
    is_ended = isinstance(error, ssl.SSLError | ConnectionError | HTTPException)
    if is_ended and not isinstance(error, ConnectionRefusedError):
        if server.has_tls:
            return HttpClientError(HttpFailure.NOT_LET_IN, f"{server} ended the connection ({reason})")
        if speaks_tls(server.address):
            return HttpClientError(
                HttpFailure.WRONG_SCHEME, f"{server.address} speaks TLS; write https://{server.address}"
            )
    return HttpClientError(HttpFailure.NO_ANSWER, f"{server} does not answer ({reason})")
