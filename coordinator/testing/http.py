"""The verbs over HTTP: `POST /test/VERB?name=value&…`, with a JSON answer.

The parameters are those of the verb in Python. Many of them go into the body, as a form, because a path is bounded.
A verb that cannot be done answers 400 with `{"error": …}`, a wait that ends without success 408. Without a token, pages
in a browser are refused with 403: their requests have an Origin, or the name of another host.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import wait
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin, get_type_hints
from urllib.parse import parse_qs

import msgspec

from coordinator.config.values import is_loopback
from coordinator.testing.errors import CoordinatorTestingError, NotInTimeError
from coordinator.testing.verbs import Payload, Verbs

if TYPE_CHECKING:
    from coordinator.http.parts import Headers

LOG: Final = logging.getLogger("coordinator.http")

PREFIX: Final = "/test/"
LONGEST_S: Final = 600.0  # that a verb may be told to take
GIVE_UP_S: Final = LONGEST_S + 60.0
_SECONDS: Final = frozenset({"timeout", "down", "seconds"})
_OWN_BOUNDS: Final = frozenset({"advance"})  # takes no time, however far it goes
_MAPPING: Final = "topics"  # the parameter of create_topics: any name=number


@cache
def verb_names() -> tuple[str, ...]:
    """Return the names of all verbs."""
    return tuple(name for name, verb in vars(Verbs).items() if inspect.iscoroutinefunction(verb) and name[0] != "_")


class VerbCommands:
    """Runs verbs that arrive over HTTP. Called in threads of the HTTP port."""

    def __init__(self, verbs: Verbs, loop: asyncio.AbstractEventLoop, token: str = "") -> None:
        self._verbs = verbs
        self._loop = loop
        self._token = token

    def __call__(self, path: str, query: str, headers: Headers) -> tuple[HTTPStatus, bytes]:
        if self._token:
            if not _is_same(headers.get("Authorization", ""), f"Bearer {self._token}"):
                return _error(
                    HTTPStatus.UNAUTHORIZED, "send the header `Authorization: Bearer TOKEN` with test.verbs.token"
                )
        elif _is_from_elsewhere(headers):
            return _error(
                HTTPStatus.FORBIDDEN,
                "without a token, verbs are for programs on this machine and not for pages in a browser: ask "
                "http://127.0.0.1 without the header Origin, or set test.verbs.token",
            )
        name = path.removeprefix(PREFIX)
        if not path.startswith(PREFIX) or name not in verb_names():
            return _error(HTTPStatus.NOT_FOUND, f"there is no verb {path!r}; there are: {', '.join(verb_names())}")
        verb = getattr(self._verbs, name)
        try:
            arguments = arguments_of(verb, parse_query(query))
            result = self._run(name, verb(**arguments))
            return HTTPStatus.OK, msgspec.json.encode(plain(result), order="deterministic")
        except NotInTimeError as error:
            return _error(HTTPStatus.REQUEST_TIMEOUT, str(error))
        except (CoordinatorTestingError, ValueError, msgspec.ValidationError) as error:
            return _error(HTTPStatus.BAD_REQUEST, str(error))
        except Exception as error:
            LOG.exception("the verb %s failed", name)
            return _error(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error or 'no details'}")

    def _run(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a verb on the loop of the server. Raises NotInTimeError if it does not end."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        if wait((future,), GIVE_UP_S).not_done:
            future.cancel()
            raise NotInTimeError(f"{name} had not ended after {GIVE_UP_S:g} s and was given up")
        return future.result()


def parse_query(query: str) -> dict[str, list[str]]:
    """Return the parameters of a query or form. Bytes that are no UTF-8 become surrogates. Raises ValueError."""
    return parse_qs(query, keep_blank_values=True, strict_parsing=bool(query), errors="surrogateescape")


def arguments_of(verb: Callable[..., Coroutine[Any, Any, Any]], query: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return the arguments of a verb from a query. Raises ValueError with a sentence that says what is wrong."""
    parameters, types = inspect.signature(verb).parameters, get_type_hints(verb)
    if _MAPPING in parameters:
        return {_MAPPING: {name: _converted(int, name, values[-1]) for name, values in query.items()}}
    unknown = [name for name in query if name not in parameters]
    if unknown:
        raise ValueError(f"{verb.__name__} has no parameter {unknown[0]!r}; it has: {', '.join(parameters) or 'none'}")
    missing = [name for name, each in parameters.items() if each.default is each.empty and name not in query]
    if missing:
        raise ValueError(f"{verb.__name__} needs {missing[0]!r}; its parameters: {', '.join(parameters)}")
    arguments: dict[str, Any] = {
        name: [_bytes(each) for each in values] if name == "values" else _converted(types[name], name, values[-1])
        for name, values in query.items()
    }
    if verb.__name__ not in _OWN_BOUNDS:
        for name in _SECONDS & arguments.keys():
            if not 0 <= arguments[name] <= LONGEST_S:  # nan neither
                raise ValueError(f"{name}={query[name][-1]}: give 0 to {LONGEST_S:g} seconds")
    return arguments


def _converted(wanted: Any, name: str, text: str) -> Any:
    if wanted == Payload:
        return _bytes(text)
    text = _bytes(text).decode(errors="replace")
    try:
        return msgspec.convert(text, wanted, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name}={text}: {error}") from None


def _bytes(text: str) -> bytes:
    """Return the bytes that `parse_query` made into this text."""
    return text.encode("utf-8", "surrogateescape")


def plain(result: Any) -> Any:
    """Return a result as JSON has it: a partition as key is `topic-number`."""
    if isinstance(result, dict):
        return {"-".join(map(str, key)) if isinstance(key, tuple) else key: value for key, value in result.items()}
    return result


def from_plain(wanted: Any, found: Any) -> Any:
    """Return what `plain` made into JSON as the type that the verb returns."""
    if isinstance(found, dict) and get_origin(wanted) is dict and get_args(wanted)[0] is not str:
        return {_partition(key): value for key, value in found.items()}
    return msgspec.convert(found, wanted)


def _partition(text: str) -> tuple[str, int]:
    topic, _, number = text.rpartition("-")
    return topic, int(number)


def _error(status: HTTPStatus, sentence: str) -> tuple[HTTPStatus, bytes]:
    return status, msgspec.json.encode({"error": sentence})


def _is_from_elsewhere(headers: Headers) -> bool:
    """Return True for a request that a page in a browser made, or that was sent to a name of somewhere else.

    The name is checked because a page can have its own one lead to this machine.
    """
    if "Origin" in headers or "Sec-Fetch-Site" in headers:
        return True
    host = headers.get("Host", "127.0.0.1")
    return not is_loopback(host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0])


def _is_same(given: str, wanted: str) -> bool:
    """Compare a header with a text, in a time that does not tell where they differ."""
    from hmac import compare_digest  # late, because only a daemon with a token asks

    return compare_digest(given.encode("utf-8", "surrogateescape"), wanted.encode())
