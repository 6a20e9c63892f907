"""Settings in environment variables, in the convention of Kafka's container images.

`KAFKA_GROUP_MAX_SIZE` and `COORDINATOR_GROUP_MAX_SIZE` both set `group.max.size`: after the prefix `_` stands for a
dot, `__` for an underscore, `___` for a dash. So the `environment:` of a Kafka service in somebody's compose file can
stay as it is. Where both name a key, ours holds, because it was written for this program.

A mistake behind our prefix is an error. Behind Kafka's it is one warning for all of them: its images use such names for
much that is no setting (`KAFKA_HEAP_OPTS`), and so do other programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

OUR_PREFIX: Final = "COORDINATOR_"
KAFKA_PREFIX: Final = "KAFKA_"

# What Kubernetes puts into the environment of every pod when some service is called "coordinator" or "kafka".
_KUBERNETES_SERVICE_LINK: Final = re.compile(
    r"(COORDINATOR|KAFKA)_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_\d+_(TCP|UDP)(_.*)?)?)"
)
# Read where they are needed, before there is a Config: which event loop to run on (cli/serve.py).
_OTHER_VARIABLES: Final = frozenset({"COORDINATOR_EVENT_LOOP"})
_UNDERSCORES: Final = re.compile("_{1,3}")
_MEANING: Final = {"_": ".", "__": "_", "___": "-"}


class Variable(NamedTuple):
    """A variable that names a setting, or may do so."""

    name: str  # of the variable
    key: str
    value: str
    is_ours: bool


def setting_variables(environ: Mapping[str, str]) -> Iterator[Variable]:
    """What stands behind the two prefixes, Kafka's first, so that a later one of ours replaces it."""
    for prefix in (KAFKA_PREFIX, OUR_PREFIX):
        for name in sorted(environ):
            if not name.startswith(prefix) or name in _OTHER_VARIABLES or _KUBERNETES_SERVICE_LINK.fullmatch(name):
                continue
            key = _UNDERSCORES.sub(lambda found: _MEANING[found[0]], name.removeprefix(prefix)).lower()
            yield Variable(name, key, environ[name], prefix == OUR_PREFIX)


def variable_of(key: str) -> str:
    """The variable of ours that sets a key."""
    return OUR_PREFIX + key.replace("_", "__").replace("-", "___").replace(".", "_").upper()
