"""Starts Spark: sets its master, the module path of its workers, and where its messages go.

The master is that of the settings, else that of `spark-submit`, else all cores of this machine. A Spark started here
uses the loopback interface, writes its messages to a file, and tries a task that failed four times, as a cluster does;
Spark's default on one machine is to give up at once. Workers start with an empty module path, so they are told where
these packages are; to another machine the packages are sent.

A missing requirement (the extra, Java) raises one sentence before Spark starts. Callers use only DataFrames of the
session, no RDD, so a session over Spark Connect works as well.
"""

from __future__ import annotations

import atexit
import importlib.util
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coordinator.version import install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_JAVA: Final = 17
TASK_ATTEMPTS: Final = 4  # spark.task.maxFailures of a cluster; a local master carries it in its name
OWN_MASTER: Final = f"local[*,{TASK_ATTEMPTS}]"
DEFAULT_DRIVER_MEMORY: Final = "2g"
LOOPBACK: Final = "127.0.0.1"

_PACKAGES: Final = ("coordinator", "protocol")
_NEEDED: Final = ("pyspark", "pandas", "pyarrow", "numpy")  # pandas: mapInArrow imports it and does not use it
_LOCAL: Final = re.compile(r"local(?:\[(?P<threads>\d+|\*)\])?")
_LOOPBACK_CLUSTER: Final = re.compile(r"spark://(127\.0\.0\.1|localhost)(:\d+)?")
_JAVA_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_SENTENCE: Final = re.compile(r"^(?:[\w.]+\.)?\w*(?:Error|Exception): (\S.*)$", re.MULTILINE)
_THROWN: Final = re.compile(r"^: (?:[\w.$]+: )?(\S.*)$", re.MULTILINE)
_MEMORY: Final = re.compile(r"\d{1,6}[kmgt]b?", re.IGNORECASE)

# Start faster and use less memory: Python workers do most of the work, and the JVM only moves their columns.
_JVM_OPTIONS: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class SparkUnavailableError(Exception):
    """Spark cannot be started here. The message is one sentence that says what to install or to set."""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Settings of a Spark session."""

    master: str | None = None  # None: what spark-submit was told, else OWN_MASTER
    driver_memory: str = DEFAULT_DRIVER_MEMORY  # of the JVM; the log's bytes are in the Python workers
    name: str = "coordinator"
    log: Path | None = None  # where the JVM's messages go; None: to stderr
    conf: Mapping[str, str] = field(default_factory=dict)  # other settings; they override those made here


def under_spark_submit() -> bool:
    """Return whether this program was started by `spark-submit`, which then decides where Spark runs."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def is_running() -> bool:
    """Return whether this process has a session already. Call it only if Spark's packages are installed."""
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() is not None


def is_local(master: str | None) -> bool:
    """Return whether tasks run in processes of this machine, and see its files."""
    return master is None or master.startswith("local") or _LOOPBACK_CLUSTER.fullmatch(master) is not None


def with_retries(master: str) -> str:
    """Return `local[N]` with as many attempts for a task as a cluster allows; any other master unchanged."""
    found = _LOCAL.fullmatch(master)
    return master if found is None else f"local[{found['threads'] or 1},{TASK_ATTEMPTS}]"


def open_session(settings: SessionSettings) -> SparkSession:
    """A session, the one that runs in this process if there is one. SparkUnavailableError: something is missing."""
    check_available(settings)
    # Spark 4 warns that it supports pandas 3 only in part. pandas is imported here, and not used.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    from pyspark.errors import PySparkException, PySparkRuntimeError
    from pyspark.sql import SparkSession

    if (running := SparkSession.getActiveSession()) is not None:
        return running
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # it raises whatever it logs
    conf = session_conf(settings)
    _prepare_environment(settings)
    builder = SparkSession.builder.appName(settings.name)
    for key, value in conf.items():
        builder = builder.config(key, value)
    try:
        with _stderr_to(settings.log):
            session = builder.getOrCreate()
    except (PySparkException, PySparkRuntimeError, OSError) as error:
        raise SparkUnavailableError(_did_not_start(error, settings)) from error
    except Exception as error:  # py4j's own, for whatever the JVM threw
        if type(error).__module__.partition(".")[0] != "py4j":
            raise
        raise SparkUnavailableError(_did_not_start(error, settings)) from error
    if not is_local(settings.master):
        send_packages(session)
    return session


def session_conf(settings: SessionSettings) -> dict[str, str]:
    """Return Spark's settings for this session, as text."""
    conf = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",  # the command draws its own
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    if is_local(settings.master):  # elsewhere these directories may not exist, or hold another version
        conf["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(filter(None, (_root(), os.environ.get("PYTHONPATH"))))
    if settings.master is not None or not under_spark_submit():
        conf["spark.master"] = with_retries(settings.master or OWN_MASTER)
    if not under_spark_submit():
        if not _MEMORY.fullmatch(settings.driver_memory):
            raise SparkUnavailableError(f"the driver memory {settings.driver_memory!r} is no size; set for example 2g")
        properties = Path(__file__).with_name("log4j2.properties")
        logging = (f"-Dlog4j2.configurationFile={properties.as_uri()}",) if properties.exists() else ()
        conf["spark.driver.memory"] = settings.driver_memory
        conf["spark.driver.extraJavaOptions"] = " ".join((*_JVM_OPTIONS, *logging))
        if is_local(settings.master):
            conf["spark.driver.bindAddress"] = conf["spark.driver.host"] = LOOPBACK
    return conf | dict(settings.conf)


def check_available(settings: SessionSettings) -> None:
    """Raise SparkUnavailableError if a requirement is missing. Starts nothing."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise SparkUnavailableError(
            f"Spark's Python packages are not installed ({', '.join(missing)}); install them with: {install('spark')}"
        )
    if under_spark_submit() or (settings.master or "").startswith("sc://"):
        return  # a JVM is running already
    version = java_version()
    if version is None or version < LEAST_JAVA:
        found = "none was found" if version is None else f"the one found is version {version}"
        raise SparkUnavailableError(
            f"Spark needs Java {LEAST_JAVA} or later and {found}; install it "
            f"(Debian: apt-get install openjdk-{LEAST_JAVA}-jre-headless), or set JAVA_HOME"
        )


def java_version() -> int | None:
    """Return the major version of the Java that Spark would start; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if program is None:
        return None
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _JAVA_VERSION.search(done.stderr + done.stdout)
    return int(found[1]) if found else None


def send_packages(session: SparkSession) -> None:
    """Send the workers of a cluster these packages, so that they use this version whatever is installed there."""
    session.addArtifacts(str(_packed()), pyfile=True)


@cache
def _packed() -> Path:
    """Write the zip of these packages, which is kept until this process ends.

    The driver serves the file itself, not a copy of it, and each executor fetches it before its first task: an executor
    may start long after the session.
    """
    directory = Path(tempfile.mkdtemp(prefix="coordinator-packages-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    packed = directory / "coordinator-packages.zip"
    write_packages(packed)
    return packed


def write_packages(target: Path) -> None:
    """Write these packages into one zip, for `--py-files`."""
    root = Path(_root())
    if root.is_file():  # this module was imported from such a zip
        shutil.copyfile(root, target)
        return
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for package in _PACKAGES:
            for path in sorted((root / package).rglob("*")):
                if path.suffix in (".py", ".sql"):
                    packed.write(path, path.relative_to(root))


def _root() -> str:
    """Return the directory (or zip) that holds these packages."""
    return str(Path(__file__).parents[2])


def _prepare_environment(settings: SessionSettings) -> None:
    """Set the environment variables that the JVM and its workers inherit from this process."""
    if under_spark_submit() or not is_local(settings.master):
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers run whatever python3 the PATH has
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)


@contextmanager
def _stderr_to(log: Path | None) -> Iterator[None]:
    """Redirect stderr to a file while the JVM starts, because it inherits it; then restore the terminal."""
    if log is None or under_spark_submit():
        yield
        return
    kept = os.dup(2)
    try:
        fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            sys.stderr.flush()
            os.dup2(fd, 2)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(fd)
    finally:
        os.close(kept)


def reason_of(error: Exception) -> str:
    """Return why Spark failed, in one sentence: the last error of a task's Python, else the JVM's exception."""
    text = str(error)
    sentences = _SENTENCE.findall(text)
    thrown = _THROWN.search(text)
    return sentences[-1] if sentences else thrown[1] if thrown else text.strip().partition("\n")[0]


def _did_not_start(error: Exception, settings: SessionSettings) -> str:
    reason = reason_of(error)
    where = f"; its messages are in {settings.log}" if settings.log is not None else ""
    return f"Spark did not start ({reason}){where}"
