"""TLS to the database, as the parameters of `log.engine` ask for it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coordinator.storage.log_store import LogStoreError
from tests.engine.postgres.database import Database
from tests.support.machine_tools import require_tool
from tests.support.postgres import SUPERUSER, PostgresServer

pytestmark = pytest.mark.integration

NEW_KEY = ("req", "-newkey", "rsa:2048", "-nodes", "-days", "2")


@pytest.fixture
def secured(server: PostgresServer, tmp_path: Path) -> Iterator[Path]:
    """Give the server a certificate for 127.0.0.1; returns the file of its authority."""
    authority, certificate = _certificates(tmp_path)
    server.write("server.crt", certificate.read_text())
    server.write("server.key", certificate.with_suffix(".key").read_text())
    server.setting("ssl_cert_file", str(server.directory / "server.crt"))
    server.setting("ssl_key_file", str(server.directory / "server.key"))
    server.setting("ssl", "on")
    yield authority
    server.setting("ssl", "off")


def _openssl(directory: Path, *args: str) -> None:
    subprocess.run([require_tool("openssl"), *args], check=True, capture_output=True, cwd=directory)


def _certificates(directory: Path) -> tuple[Path, Path]:
    _openssl(
        directory, *NEW_KEY, "-x509", "-subj", "/CN=authority", "-keyout", "authority.key", "-out", "authority.crt"
    )
    return directory / "authority.crt", _issue(directory, "database")


def _issue(directory: Path, name: str) -> Path:
    """Issue a certificate for 127.0.0.1 and this name by the authority in a directory."""
    _openssl(directory, *NEW_KEY, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
    (directory / "names").write_text("subjectAltName=IP:127.0.0.1")
    _openssl(
        directory, "x509", "-req", "-in", f"{name}.csr", "-CA", "authority.crt", "-CAkey", "authority.key",
        "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", f"{name}.crt",
    )  # fmt: skip
    return directory / f"{name}.crt"


async def test_all_sessions_are_encrypted_and_the_server_is_verified(database: Database, secured: Path) -> None:
    node = await database.node(database.config(query=f"?sslmode=verify-full&sslrootcert={secured}"))
    await node.fill(await node.store.claim(0, 0), 3)
    encrypted = "SELECT count(*), bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
    assert database.sql(f"{encrypted} WHERE application_name LIKE 'coordinator node%'") == "3|t"


async def test_a_server_with_a_certificate_of_another_authority_is_refused(
    database: Database, secured: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other, _ = _certificates(tmp_path_factory.mktemp("other"))
    with pytest.raises(LogStoreError, match=r"no TLS connection .*certificate verify failed.*sslrootcert") as caught:
        await database.unannounced(database.config(query=f"?sslmode=verify-full&sslrootcert={other}"))
    assert not caught.value.may_pass


async def test_a_server_without_tls_is_refused_where_it_is_required(database: Database) -> None:
    with pytest.raises(LogStoreError, match=r"no TLS connection .*sslmode") as caught:
        await database.unannounced(database.config(query="?sslmode=require"))
    assert not caught.value.may_pass


Users = Callable[[str], str]


@pytest.fixture
def client_certificates(server: PostgresServer, secured: Path) -> Iterator[Users]:
    """Have the server ask for a certificate of the user; the function issues one and returns its part of the query."""
    server.write("authority.crt", secured.read_text())
    server.setting("ssl_ca_file", str(server.directory / "authority.crt"))
    rules = server.data / "pg_hba.conf"
    before = rules.read_text()
    local = "local all all trust\n"
    server.write("data/pg_hba.conf", f"{local}hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-full\n")
    server.sql("SELECT pg_reload_conf()")

    def issue(user: str) -> str:
        certificate = _issue(secured.parent, user)
        return f"&sslcert={certificate}&sslkey={certificate.with_suffix('.key')}"

    yield issue
    server.write("data/pg_hba.conf", before)
    server.setting("ssl_ca_file", "")


async def test_a_node_whose_certificate_is_that_of_its_user_is_let_in(
    database: Database, secured: Path, client_certificates: Users
) -> None:
    query = f"?sslmode=verify-full&sslrootcert={secured}{client_certificates(SUPERUSER)}"
    node = await database.node(database.config(query=query))
    await node.fill(await node.store.claim(0, 0), 3)
    named = "SELECT count(*), min(client_dn) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
    assert database.sql(f"{named} WHERE application_name LIKE 'coordinator node%'") == f"3|/CN={SUPERUSER}"


async def test_a_node_without_a_certificate_is_refused(
    database: Database, secured: Path, client_certificates: Users
) -> None:
    with pytest.raises(LogStoreError, match=r"requires a valid client certificate; give .* by sslcert") as caught:
        await database.unannounced(database.config(query=f"?sslmode=verify-full&sslrootcert={secured}"))
    assert not caught.value.may_pass


async def test_a_node_with_the_certificate_of_another_user_is_refused(
    database: Database, secured: Path, client_certificates: Users
) -> None:
    query = f"?sslmode=verify-full&sslrootcert={secured}{client_certificates('stranger')}"
    with pytest.raises(LogStoreError, match=r"sslcert of log\.engine \(a certificate of this user\)") as caught:
        await database.unannounced(database.config(query=query))
    assert not caught.value.may_pass
