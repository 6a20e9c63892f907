"""A real PostgreSQL: a primary and, where a test asks for it, a synchronous standby, as processes on loopback.

Its programs are those of the machine (PATH, or /usr/lib/postgresql). As root they run as the user `postgres`, because
PostgreSQL refuses root. `fsync` is on. The servers end with the test process, even if that is killed.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from tests.support.eventually import eventually
from tests.support.machine_tools import not_run, require_tool
from tests.support.nodes import free_ports
from tests.support.small_disk import SmallDisk

PROGRAMS = ("initdb", "postgres", "pg_basebackup", "pg_ctl", "pg_isready", "psql")
SUPERUSER = "postgres"
DATABASE_NUMBERS = itertools.count(1)  # of all servers: a standby has the databases of its primary
PASSWORD = "correct-horse-battery"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "16MB",
    "max_connections": "60",
    "max_wal_size": "256MB",
    "wal_level": "replica",
    "max_wal_senders": "4",
    "autovacuum_naptime": "5s",
    "log_line_prefix": "%m [%p] %a ",
    "huge_pages": "off",
    # A killed server leaves it behind; files of its own directory go with that directory.
    "dynamic_shared_memory_type": "mmap",
}


def programs() -> Path:
    """The directory of PostgreSQL's programs; the test is left out where there is none."""
    places = [Path(found).resolve().parent for name in PROGRAMS if (found := shutil.which(name))]
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = next((place for place in places if all((place / name).exists() for name in PROGRAMS)), None)
    return found or not_run("install postgresql")


def as_postgres() -> list[str]:
    """The start of a command line that runs a program without the rights of root, and ends it with this process."""
    command = [require_tool("setpriv", "util-linux"), "--pdeathsig", "INT"]
    if os.getuid() == 0:
        try:
            pwd.getpwnam(SUPERUSER)
        except KeyError:
            not_run("install postgresql, with its user `postgres`")
        command += ["--reuid", SUPERUSER, "--regid", SUPERUSER, "--init-groups"]
    return command


class PostgresServer:
    """One server, in a directory of its own below /tmp."""

    def __init__(self, directory: Path, port: int, disk: SmallDisk | None) -> None:
        self.directory = directory
        self.disk = disk
        self.data = directory / "data"
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None
        self._programs = programs()

    @classmethod
    def new(cls, *, disk_bytes: int = 0) -> PostgresServer:
        """Make and start a primary; with `disk_bytes`, on a disk of its own, which can be filled."""
        server = cls._in_new_directory(disk_bytes)
        try:
            server._make()
        except BaseException:
            server.close()
            raise
        return server

    def _make(self) -> None:
        password = self.directory / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        self.run(
            "initdb", "-D", str(self.data), "-U", SUPERUSER, "--auth-local=trust", "--auth-host=scram-sha-256",
            f"--pwfile={password}", "--no-sync", "--encoding=UTF8", "--locale=C", "--no-instructions",
        )  # fmt: skip
        self._configure()
        self.start()

    @classmethod
    def _in_new_directory(cls, disk_bytes: int = 0) -> PostgresServer:
        programs()
        directory = Path(tempfile.mkdtemp(prefix="kgc-postgres-", dir="/tmp"))
        disk = SmallDisk(directory, disk_bytes) if disk_bytes else None
        if os.getuid() == 0:
            shutil.chown(directory, SUPERUSER, SUPERUSER)
        return cls(directory, free_ports(1)[0], disk)

    def _configure(self) -> None:
        rows = {**SETTINGS, "port": str(self.port), "unix_socket_directories": str(self.directory)}
        rows |= {"max_wal_size": "64MB"} if self.disk is not None else {}
        text = "".join(f"{name} = '{value}'\n" for name, value in rows.items())
        self.write("data/kgc.conf", text)
        conf = self.data / "postgresql.conf"
        if "kgc.conf" not in conf.read_text():
            with conf.open("a") as file:
                file.write("include 'kgc.conf'\n")

    def write(self, name: str, text: str) -> Path:
        """Write a file that the server can read, and no other user."""
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o600)
        if os.getuid() == 0:
            shutil.chown(path, SUPERUSER, SUPERUSER)
        return path

    # -- process -------------------------------------------------------------------------------------------------

    def run(self, program: str, *args: str) -> str:
        """Run one of PostgreSQL's programs and return its output."""
        done = subprocess.run(
            [*as_postgres(), str(self._programs / program), *args],
            capture_output=True, text=True, cwd=self.directory, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self) -> None:
        """Start the server and wait until it answers."""
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*as_postgres(), str(self._programs / "postgres"), "-D", str(self.data)],
                stdout=log, stderr=log, cwd=self.directory,
            )  # fmt: skip
        eventually(self._answers, f"PostgreSQL answers; its log is {self.directory / 'log'}", within_s=60)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.directory / "log").read_text()[-2000:]
        ready = [str(self._programs / "pg_isready"), "-q", "-h", str(self.directory), "-p", str(self.port)]
        return subprocess.run(ready).returncode == 0

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End the server by SIGKILL; its children end as soon as they notice."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the server and all its sessions in good order."""
        self._end(signal.SIGINT)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(60)
            self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def close(self) -> None:
        """End the server and remove its directory."""
        if self.is_running:
            self._end(signal.SIGQUIT)  # at once: the files are removed anyway
        if self.disk is not None:
            self.disk.unmount()
        shutil.rmtree(self.directory, ignore_errors=True)

    # -- content -------------------------------------------------------------------------------------------------

    def sql(self, command: str, database: str = SUPERUSER) -> str:
        """Run SQL as the superuser; returns the rows as text."""
        args = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", str(self.directory), "-p", str(self.port)]
        return self.run("psql", *args, "-U", SUPERUSER, "-d", database, "-c", command).strip()

    def new_database(self) -> str:
        """Create an empty database and return its name."""
        name = f"kgc{next(DATABASE_NUMBERS)}"
        self.sql(f"CREATE DATABASE {name}")
        return name

    def setting(self, name: str, value: str) -> None:
        """Change a setting of the running server."""
        self.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        self.sql("SELECT pg_reload_conf()")
        eventually(lambda: self.sql(f"SHOW {name}") == value, f"{name} is {value!r}")

    def save(self) -> Path:
        """Stop the server, copy its files, and start it again; returns the copy for `restore`."""
        copy = Path(tempfile.mkdtemp(prefix="copy", dir=self.directory)) / "data"
        self.stop()
        subprocess.run(["cp", "-a", str(self.data), str(copy)], check=True)
        self.start()
        return copy

    def restore(self, copy: Path) -> None:
        """Stop the server and start it with the files of a copy."""
        self.stop()
        shutil.rmtree(self.data)
        subprocess.run(["cp", "-a", str(copy), str(self.data)], check=True)
        self.start()

    # -- standby -------------------------------------------------------------------------------------------------

    def new_standby(self) -> PostgresServer:
        """Make and start a standby that each commit of this server waits for, on a disk like that of this server."""
        standby = self._in_new_directory(self.disk.size_bytes if self.disk is not None else 0)
        standby.run(
            "pg_basebackup", "-h", str(self.directory), "-p", str(self.port), "-U", SUPERUSER, "-D", str(standby.data),
            "-R", "-X", "stream", "--checkpoint=fast", "--no-sync",
        )  # fmt: skip
        standby._configure()
        standby.start()
        self.setting("synchronous_standby_names", "*")
        sync = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        eventually(lambda: self.sql(sync) == "1", "the standby is synchronous")
        return standby

    def promote(self) -> None:
        """Make this standby a primary; it waits for no standby of its own."""
        self.run("pg_ctl", "promote", "-w", "-D", str(self.data))
        self.setting("synchronous_standby_names", "")
