"""The settings of a test server as text, for one in this process and for one in its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from coordinator.config.config import keys
from coordinator.config.values import ConfigError

ANY_PORT: Final = "127.0.0.1:0"
WITH_LOGIN: Final = "SASL_PLAINTEXT://127.0.0.1:0"
MECHANISMS: Final = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"  # in which the users of a test can log in
LISTENERS: Final = "listeners"
_ENABLED: Final = "sasl.enabled.mechanisms"


def setting_text(value: object) -> str:
    """Return the text of a setting, as it stands in a file."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def key_of(name: str) -> str:
    """Return the key that a keyword stands for: `group_max_size` is group.max.size. One with a dot is a key itself."""
    return name if "." in name else name.replace("_", ".")


def settings_of(listen: str | None, users: Mapping[str, str] | None, keywords: Mapping[str, object]) -> dict[str, str]:
    """Return the settings by key, the addresses among them. Users need a listener where they log in.

    Raises ConfigError.
    """
    settings = {key_of(name): setting_text(value) for name, value in keywords.items()}
    if listen is not None and LISTENERS in settings:
        raise ConfigError("`listen` and `listeners` both say where the server listens; leave one of them out")
    settings.setdefault(LISTENERS, listen or (WITH_LOGIN if users else ANY_PORT))
    if users:
        settings.setdefault(_ENABLED, MECHANISMS)
    return settings


def is_secret(name: str) -> bool:
    """Return True for the key of a setting that may not stand on a command line; also for one of a listener."""
    secrets = [key.name for key in keys().values() if key.type == "password"]
    return any(name == secret or name.endswith(f".{secret}") for secret in secrets)
