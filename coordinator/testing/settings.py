"""The settings of a test server as text, for one in this process and for one in its own."""

from __future__ import annotations

from typing import Final

ANY_PORT: Final = "127.0.0.1:0"


def setting_text(value: object) -> str:
    """Return the text of a setting, as it stands in a file."""
    return str(value).lower() if isinstance(value, bool) else str(value)
