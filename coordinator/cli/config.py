"""`coordinator config`: the table of settings, for a terminal, for a program, or as docs/configuration.md.

All three are printed from the declarations in `coordinator.config`. A test compares the page in docs/ with this output.
With --profile, it prints what the profile sets, and why.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterable, Mapping
from typing import Final

from coordinator.cli.errors import CliError
from coordinator.config.config import OTHER_NAMES, Key, keys
from coordinator.config.profiles import PROFILES, ProfileValue

DESCRIPTION: Final = "Print every setting: its name, type, default, valid range, meaning, and whether Kafka has it too."

EPILOG: Final = "Examples: coordinator config retention; coordinator config --profile test"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("word", nargs="?", metavar="WORD", help="only settings with this word in name or meaning")
    parser.add_argument(
        "--profile", choices=tuple(PROFILES), help="only settings of this profile: their values, and why"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON, for programs")
    form.add_argument("--markdown", action="store_true", help="print the page docs/configuration.md")


def run(arguments: argparse.Namespace) -> int:
    word: str = (arguments.word or "").lower()
    chosen = [key for key in keys().values() if word in key.name or word in key.help.lower()]
    if arguments.profile:
        return _run_profile(arguments, PROFILES[arguments.profile], chosen)
    if not chosen:
        raise CliError(f"no setting has {word!r} in its name or meaning; `coordinator config` lists them all")
    if arguments.json:
        json.dump([as_json(key) for key in chosen], sys.stdout, indent=2)
        print()
    elif arguments.markdown:
        print(as_markdown(chosen), end="")
    else:
        print("\n".join(as_text(key) for key in chosen))
    return 0


def _run_profile(arguments: argparse.Namespace, profile: Mapping[str, ProfileValue], found: Iterable[Key]) -> int:
    if arguments.markdown:
        raise CliError("--markdown prints the page of all settings; leave out --profile, or print --json")
    chosen = [(key, profile[key.name]) for key in found if key.name in profile]
    if not chosen:
        raise CliError(
            f"the profile {arguments.profile!r} sets nothing with {arguments.word!r} in its name or meaning; "
            f"`coordinator config --profile {arguments.profile}` lists what it sets"
        )
    if arguments.json:
        json.dump([profile_json(key, row) for key, row in chosen], sys.stdout, indent=2)
        print()
    else:
        print("\n".join(profile_text(key, row) for key, row in chosen))
    return 0


def profile_text(key: Key, row: ProfileValue) -> str:
    return f"{key.name}={row.value}\n    instead of {shown(key) or 'empty'}: {row.why}\n"


def profile_json(key: Key, row: ProfileValue) -> dict[str, object]:
    return {"name": key.name, "value": key.parse(row.value), "default": key.default, "why": row.why}


def as_text(key: Key) -> str:
    facts = f"{key.name}\n    {key.type}, default {shown(key) or 'empty'}"
    if key.valid:
        facts += f"; {key.valid}"
    if key.ours:
        facts += "; not a setting of Kafka"
    return f"{facts}\n{textwrap.fill(key.help, 100, initial_indent='    ', subsequent_indent='    ')}\n"


def as_json(key: Key) -> dict[str, object]:
    return {
        "name": key.name,
        "type": key.type,
        "default": key.default,
        "valid": key.valid,
        "meaning": key.help,
        "kafka": not key.ours,
        "environment": key.environment,
    }


def as_markdown(chosen: Iterable[Key] | None = None) -> str:
    """Return the page with all settings, or with the chosen ones."""
    lines = [
        "# Configuration",
        "",
        "<!-- Written by `make generate` from coordinator/config/config.py; do not edit. -->",
        "",
        "Settings have Kafka's names where Kafka has the setting. They come, weakest first, from the defaults, from",
        "`--profile test` (`coordinator config --profile test` prints its values), from `--config FILE` (the syntax of",
        "Kafka's `server.properties`), from the environment (`group.max.size` is `COORDINATOR_GROUP_MAX_SIZE`, or",
        "`KAFKA_GROUP_MAX_SIZE` as in Kafka's images: `_` is a dot, `__` an underscore, `___` a dash), from",
        "`--override key=value`, and from the flags of `coordinator serve`.",
        "",
        "A setting of Kafka's that has no meaning here is ignored with one warning; an unknown name is an error.",
        "",
        "| Setting | Type | Default | Valid | Meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    for key in keys().values() if chosen is None else chosen:
        default = f"`{shown(key)}`" if shown(key) else "(empty)"
        mark = " *(ours)*" if key.ours else ""
        lines.append(f"| `{key.name}`{mark} | {key.type} | {default} | {key.valid} | {key.help} |")
    lines += ["", "Other names of Kafka's that are understood:", ""]
    for name, other in OTHER_NAMES.items():
        times = f", times {other.factor}" if other.factor != 1 else ""
        lines.append(f"- `{name}` sets `{other.key}`{times}")
    return "\n".join(lines) + "\n"


def shown(key: Key) -> str:
    """Return the default as written in a properties file."""
    return str(key.default).lower() if isinstance(key.default, bool) else str(key.default)
