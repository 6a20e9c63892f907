"""The verbs over HTTP: `POST /test/VERB?name=value&…`, with a JSON answer.

The parameters are those of the verb in Python. A verb that cannot be done answers 400 with `{"error": …}`, a wait that
ends without success 408.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any, Final, get_origin, get_type_hints
from urllib.parse import parse_qs

import msgspec

from coordinator.testing.errors import CoordinatorTestingError, NotInTimeError
from coordinator.testing.verbs import Verbs

PREFIX: Final = "/test/"
LONGEST_S: Final = 600.0
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

    def __call__(self, path: str, query: str, authorization: str) -> tuple[HTTPStatus, bytes]:
        if self._token and not _is_same(authorization, f"Bearer {self._token}"):
            return _error(
                HTTPStatus.UNAUTHORIZED, "send the header `Authorization: Bearer TOKEN` with test.verbs.token"
            )
        name = path.removeprefix(PREFIX)
        if not path.startswith(PREFIX) or name not in verb_names():
            return _error(HTTPStatus.NOT_FOUND, f"there is no verb {path!r}; there are: {', '.join(verb_names())}")
        verb = getattr(self._verbs, name)
        try:
            arguments = arguments_of(verb, parse_qs(query, keep_blank_values=True, strict_parsing=bool(query)))
            result = asyncio.run_coroutine_threadsafe(verb(**arguments), self._loop).result(LONGEST_S)
        except NotInTimeError as error:
            return _error(HTTPStatus.REQUEST_TIMEOUT, str(error))
        except (CoordinatorTestingError, ValueError, msgspec.ValidationError) as error:
            return _error(HTTPStatus.BAD_REQUEST, str(error))
        return HTTPStatus.OK, msgspec.json.encode(plain(result), order="deterministic")


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
    return {
        name: values if name == "values" else _converted(types[name], name, values[-1])
        for name, values in query.items()
    }


def _converted(wanted: Any, name: str, text: str) -> Any:
    try:
        return msgspec.convert(text, wanted, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name}={text}: {error}") from None


def plain(result: Any) -> Any:
    """Return a result as JSON has it: a partition as key is `topic-number`."""
    if isinstance(result, dict):
        return {"-".join(map(str, key)) if isinstance(key, tuple) else key: value for key, value in result.items()}
    return result


def from_plain(wanted: Any, found: Any) -> Any:
    """Return what `plain` made into JSON as the type that the verb returns."""
    if isinstance(found, dict) and get_origin(wanted) is dict:
        return {_partition(key): value for key, value in found.items()}
    return msgspec.convert(found, wanted)


def _partition(text: str) -> tuple[str, int]:
    topic, _, number = text.rpartition("-")
    return topic, int(number)


def _error(status: HTTPStatus, sentence: str) -> tuple[HTTPStatus, bytes]:
    return status, msgspec.json.encode({"error": sentence})


def _is_same(given: str, wanted: str) -> bool:
    """Compare two texts in a time that does not tell where they differ."""
    from hmac import compare_digest  # late, because only a daemon with a token asks

    return compare_digest(given, wanted)
