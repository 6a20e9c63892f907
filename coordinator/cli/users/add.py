"""`coordinator users add`: sets the password of a user, for one or several SCRAM mechanisms.

The server gets salted passwords only (KIP-554). A Kafka takes one mechanism of a user in a request.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import secrets
import sys
from getpass import getpass
from pathlib import Path
from typing import Final

from coordinator.cli.arguments import add_place
from coordinator.cli.errors import CliError
from coordinator.cli.screen import complain
from coordinator.cli.table import Row, render
from coordinator.cli.users.admin import alteration_problem, opened, user_name
from coordinator.cli.users.list import COLUMNS
from coordinator.security.scram import BY_NAME, MAX_ITERATIONS, MIN_ITERATIONS
from protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion

DESCRIPTION: Final = "Add a user, or change a password: that of both mechanisms, or of those named."

PASSWORD_VARIABLE: Final = "COORDINATOR_USER_PASSWORD"
SALT_BYTES: Final = 16

EPILOG: Final = f"""\
examples:
  coordinator users add alice                        asks for the password
  coordinator users add alice --mechanism SCRAM-SHA-512 --password-file password.txt
  coordinator users add admin --data-dir data        the first one of a daemon that needs passwords

The password is the content of the file without its last line end, else the variable {PASSWORD_VARIABLE},
else it is asked for. It is never an argument, which other users of the machine could see."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("user", metavar="USER", type=user_name)
    parser.add_argument("--mechanism", action="append", choices=tuple(BY_NAME), help="repeatable; default: all")
    parser.add_argument(
        "--iterations", type=_iterations, default=MIN_ITERATIONS, metavar="N", help=f"default: {MIN_ITERATIONS}"
    )
    parser.add_argument("--password-file", metavar="FILE", type=Path)
    add_place(parser)


def run(arguments: argparse.Namespace) -> int:
    password = _password(arguments)
    problems: list[str] = []
    rows: list[Row] = []
    with opened(arguments) as admin:
        for name in dict.fromkeys(arguments.mechanism or BY_NAME):
            salt = secrets.token_bytes(SALT_BYTES)
            upsertion = ScramCredentialUpsertion(
                name=arguments.user,
                mechanism=BY_NAME[name].type,
                iterations=arguments.iterations,
                salt=salt,
                salted_password=hashlib.pbkdf2_hmac(BY_NAME[name].hash_name, password, salt, arguments.iterations),
            )
            problem = alteration_problem(admin, AlterUserScramCredentialsRequest(upsertions=[upsertion]))
            if problem is None:
                rows.append({"USER": arguments.user, "MECHANISM": name, "ITERATIONS": arguments.iterations})
            else:
                problems.append(f"the {name} password of {arguments.user!r} was not set: {problem}")
    if rows or arguments.output != "table":
        print(render(arguments.output, COLUMNS, rows))
    return complain(problems)


def _iterations(text: str) -> int:
    if not MIN_ITERATIONS <= int(text) <= MAX_ITERATIONS:
        raise argparse.ArgumentTypeError(f"{text} is not from {MIN_ITERATIONS} to {MAX_ITERATIONS}, as Kafka wants it")
    return int(text)


def _password(arguments: argparse.Namespace) -> bytes:
    if arguments.password_file is not None:
        try:
            password = arguments.password_file.read_bytes().removesuffix(b"\n").removesuffix(b"\r")
        except OSError as error:
            raise CliError(
                f"the file of the password cannot be read ({error.strerror}): {arguments.password_file}; name a file "
                "that has the password alone"
            ) from None
    elif PASSWORD_VARIABLE in os.environ:
        password = os.fsencode(os.environ[PASSWORD_VARIABLE])
    elif sys.stdin.isatty():
        password = os.fsencode(getpass(f"password of {arguments.user}: "))
        if os.fsencode(getpass("the same again: ")) != password:
            raise CliError("the two passwords differ; run this again")
    else:
        raise CliError(
            f"there is no password: name its file with --password-file, set {PASSWORD_VARIABLE}, or run this in a "
            "terminal"
        )
    if not password:
        raise CliError("the password is empty; choose another")
    try:
        password.decode()
    except UnicodeDecodeError:
        raise CliError("the password is not UTF-8, as clients send it; write it in that encoding") from None
    return bytes(password)
