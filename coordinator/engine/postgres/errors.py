"""Errors of PostgreSQL and of its connection, as one sentence each that says what to do.

An error is certain or not. PostgreSQL undoes a statement that it answers with an error: nothing of it was kept. If the
connection ends, or the wait for the standby was cancelled, the statement was carried out or not.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

import asyncpg

from coordinator.storage.log_store import LogStoreError

if TYPE_CHECKING:
    from coordinator.engine.postgres.settings import PostgresSettings

UNIQUE_VIOLATION: Final = "23505"
_READ_ONLY: Final = "25006"
# Classes of SQLSTATE after which the state of a statement is not known: connection, shutdown, internal.
_UNCERTAIN: Final = ("08", "57P", "58", "XX", "40003")

_ADVICE: Final = {
    _READ_ONLY: "it takes no writes; give the address of the primary, or all addresses with "
    "target_session_attrs=read-write",
    "3D000": "create the database (CREATE DATABASE), or correct log.engine",
    "42P01": "check cluster.id; the first node that starts with it makes the tables",
    "42501": "let a database administrator GRANT what is missing",
    "53100": "make room on the disk of the database",
    "53200": "give the database more memory",
    "53300": "raise max_connections of the database; each node takes up to three",
    "55P03": "another session held a lock for too long; this is tried again",
    "57014": "raise log.engine.timeout.ms, or find what keeps the database busy",
    "57P03": "wait until the database has started",
}
_LASTING: Final = ("28", "3D000", "42", "0A")  # a later try without a change of settings or rights will not succeed
_PREFERRED: Final = (LogStoreError, asyncpg.PostgresError, asyncpg.InternalClientError, ssl.SSLError)


class NotConnectedError(LogStoreError):
    """There is no connection: nothing was sent."""


class RequestLostError(LogStoreError):
    """A request was sent and has no answer that can be relied on: it was carried out or not."""


class StatementError(LogStoreError):
    """PostgreSQL refused a request: nothing of it was kept."""

    def __init__(self, sentence: str, *, may_pass: bool, sqlstate: str) -> None:
        super().__init__(sentence, may_pass=may_pass)
        self.sqlstate = sqlstate

    @property
    def is_read_only(self) -> bool:
        """True if this server is not the primary any more."""
        return self.sqlstate == _READ_ONLY


def is_certain(error: BaseException) -> bool:
    """Return whether PostgreSQL has answered by an error, and so has kept nothing."""
    return (
        isinstance(error, asyncpg.PostgresError)
        and error.severity_en == "ERROR"
        and not str(error.sqlstate).startswith(_UNCERTAIN)
    )


def refused(settings: PostgresSettings, error: asyncpg.PostgresError) -> StatementError:
    """Return an error of PostgreSQL as a sentence."""
    state = str(error.sqlstate)
    advice = _ADVICE.get(state, "see the log of the database")
    return StatementError(
        f"{settings.name}: {_first_line(error)}; {advice}", may_pass=not state.startswith(_LASTING), sqlstate=state
    )


def lost(settings: PostgresSettings, error: BaseException) -> RequestLostError:
    """Return an error of the connection in the middle of a request as a sentence."""
    return RequestLostError(f"{settings.name}: the connection was lost ({_first_line(error)}); it is opened again")


def cannot_connect(settings: PostgresSettings, error: BaseException) -> NotConnectedError:
    """Return the reason why there is no connection as a sentence."""
    name = settings.name
    if isinstance(error, LogStoreError):
        return NotConnectedError(str(error), may_pass=error.may_pass)
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return NotConnectedError(f"{name}: no host is a primary that takes writes; start it, or promote a standby")
    if isinstance(error, asyncpg.PostgresError):
        state = str(error.sqlstate)
        advice = _ADVICE.get(state, "see the log of the database")
        if state.startswith("28"):
            advice = _login_advice(settings, error)
        return NotConnectedError(f"{name}: {_first_line(error)}; {advice}", may_pass=not state.startswith(_LASTING))
    if isinstance(error, ssl.SSLError) or "rejected SSL" in str(error):
        return NotConnectedError(
            f"{name}: no TLS connection ({_first_line(error)}); correct sslmode and sslrootcert of log.engine, or the "
            "certificate of the database",
            may_pass=False,
        )
    if isinstance(error, FileNotFoundError | PermissionError) and settings.hosts:
        return NotConnectedError(
            f"{name}: a file that log.engine names cannot be read ({_first_line(error)}); correct sslrootcert, sslcert "
            "or sslkey",
            may_pass=False,
        )
    if isinstance(error, OSError):  # TimeoutError is one
        return NotConnectedError(f"{name} cannot be reached ({_first_line(error)}); start it, or correct log.engine")
    return NotConnectedError(f"{name}: {_first_line(error)}; correct log.engine", may_pass=False)


def _login_advice(settings: PostgresSettings, error: asyncpg.PostgresError) -> str:
    if "certificate" in str(error):
        return "give the certificate of this user by sslcert and sslkey of log.engine, or correct pg_hba.conf"
    named = ", sslcert of log.engine (a certificate of this user)" if "sslcert=" in settings.dsn else ""
    return f"correct log.engine.user.file, log.engine.password.file{named} or pg_hba.conf"


def most_telling(errors: list[BaseException]) -> BaseException:
    """Return the error of several hosts that says most: an answer says more than silence."""
    return next((error for kind in _PREFERRED for error in errors if isinstance(error, kind)), errors[0])


def _first_line(error: BaseException) -> str:
    """Return the message without details, which may quote rows."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    lines = str(error).splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
