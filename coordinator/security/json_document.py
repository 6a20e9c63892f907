"""Reading a large document beside the event loop."""

from __future__ import annotations

import json
from typing import Any


def read_json(text: str) -> Any:
    """Return the value of a JSON text; raises ValueError.

    Python's parser holds the interpreter until its end, 40 ms for 10,000 users. The hook runs for each object, so that
    other threads get the interpreter in between.
    """
    return json.loads(text, object_hook=_itself)


def _itself(found: dict[str, Any]) -> dict[str, Any]:
    return found
