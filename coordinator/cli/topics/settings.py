"""KEY=VALUE arguments of the verbs for topics."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.cli.errors import CliError


def parse_settings(entries: Iterable[str]) -> dict[str, str]:
    """Return the settings by key. CliError: an entry has no value."""
    settings = {}
    for entry in entries:
        name, separator, value = entry.partition("=")
        if not separator or not name.strip():
            raise CliError(f"--config {entry!r} has no value; write --config key=value")
        settings[name.strip()] = value
    return settings
