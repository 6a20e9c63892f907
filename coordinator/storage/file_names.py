"""Names of files and directories in a data directory. Each occurs as a literal here and nowhere else.

Kafka's own: `meta.properties`, `.lock`, `.kafka_cleanshutdown`, `cleaner-offset-checkpoint`, and `<topic>-<partition>`
for a log (`coordinator.core.topics.names`). The names inside a log's directory belong to `coordinator.storage.log`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from coordinator.core.topics.names import COMPACTED_TOPICS, OFFSETS_TOPIC, partition_directory

LOCK_NAME: Final = ".lock"
META_NAME: Final = "meta.properties"
CATALOGUE_NAME: Final = "topics.json"
USERS_NAME: Final = "users.json"
ACLS_NAME: Final = "acls.json"
QUOTAS_NAME: Final = "quotas.json"
PRODUCER_IDS_NAME: Final = "producer-ids.json"
PRODUCERS_NAME: Final = "topic-producers.json"
CLEAN_STOP_NAME: Final = ".kafka_cleanshutdown"
CLEANER_CHECKPOINT_NAME: Final = "cleaner-offset-checkpoint"
SNAPSHOT_NAME: Final = "live-state"
WORKERS_DIR: Final = "workers"
HISTORY_DIR: Final = "history"
MARKS_NAME: Final = "marks.json"
LAKE_NAME: Final = "lake.json"
COMPACTION_DIR: Final = "compaction"  # requests, responses, and the jobs with their plans
JOBS_DIR: Final = "jobs"
DAEMON_NAME: Final = "daemon.json"
REQUEST_NAME: Final = "request.json"

_COMPACTED_LOG: Final = re.compile(rf"({'|'.join(map(re.escape, COMPACTED_TOPICS))})-(\d{{1,9}})")


def log_dir(data_dir: Path, topic: str, partition: int) -> Path:
    """Return the directory of one partition of a topic."""
    return data_dir / partition_directory(topic, partition)


def offsets_log_dir(data_dir: Path, partition: int) -> Path:
    """Return the directory of one partition of the offsets log."""
    return log_dir(data_dir, OFFSETS_TOPIC, partition)


def offsets_partition(directory: str) -> int | None:
    """Return the partition whose log lies in a directory of this name; None if it is no offsets log."""
    found = compacted_log(directory)
    return found[1] if found is not None and found[0] == OFFSETS_TOPIC else None


def compacted_log(directory: str) -> tuple[str, int] | None:
    """Return topic and partition of a log that is compacted, by the name of its directory; None for any other name."""
    found = _COMPACTED_LOG.fullmatch(directory)
    return (found[1], int(found[2])) if found else None
