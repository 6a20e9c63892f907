"""The client of the verbs over HTTP."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec

from coordinator.testing.errors import CoordinatorTestingError, NotInTimeError
from coordinator.testing.http import GIVE_UP_S, PREFIX

LONGEST_S: Final = GIVE_UP_S + 10.0  # until the server has answered in any case
_DIRECTLY: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # whatever http_proxy says


def post_verb(
    address: str, verb: str, query: Sequence[tuple[str, str]], token: str = "", timeout_s: float = 60.0
) -> Any:
    """Have a server do a verb; return its result as JSON has it.

    Raises:
        NotInTimeError: a wait ended without what it waited for
        CoordinatorTestingError: the verb cannot be done; the message is the server's
        OSError: no server answers
    """
    url = f"http://{address}{PREFIX}{verb}?{urllib.parse.urlencode(query)}"
    request = urllib.request.Request(url, method="POST")
    if token:
        request.headers["Authorization"] = f"Bearer {token}".encode()  # type: ignore[assignment]  # http.client takes it
    try:
        with _DIRECTLY.open(request, timeout=timeout_s) as answer:
            return msgspec.json.decode(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            sentence = _sentence(error, address)
        kind = NotInTimeError if error.code == HTTPStatus.REQUEST_TIMEOUT else CoordinatorTestingError
        raise kind(sentence) from None


def _sentence(error: urllib.error.HTTPError, address: str) -> str:
    try:
        return str(msgspec.json.decode(error.read())["error"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return f"http://{address} is not the HTTP port of a coordinator: it answers {error.code} {error.reason}"
