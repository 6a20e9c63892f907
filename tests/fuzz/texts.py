"""Edits of JSON and of lines of text: another value, another key, a row twice, a row less."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

VALUES: Final = (
    *(None, True, False, 0, 1, -1, 7, 2**31, 2**63, 2**64, 10**30, 1.5, 1e400, "", "a", "0", "ff" * 16, "x" * 250),
    *([], [1], [[]], {}, {"a": 1}, "\ud800", "é"),
)


def other_json(data: bytes, chance: Random) -> bytes:
    """Return a document with one value exchanged, removed, doubled or moved; the same bytes if it is no JSON."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    _change(document, chance)
    return json.dumps(document).encode()


def _change(node: Any, chance: Random) -> None:
    while isinstance(node, dict | list) and node:
        place = chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
        inner = node[place]
        if isinstance(inner, dict | list) and inner and chance.random() < 0.75:
            node = inner
            continue
        kind = chance.random()
        if kind < 0.6:
            node[place] = chance.choice(VALUES)
        elif kind < 0.7:
            del node[place]
        elif isinstance(node, list):
            node.insert(chance.randrange(len(node) + 1), inner)
        else:
            node[chance.choice(("a", "name", "version", str(place) + "x"))] = inner
        return
