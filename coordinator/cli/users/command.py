"""`coordinator users VERB`: the table of its verbs. A new verb is a row here and a module beside this one."""

from __future__ import annotations

from typing import Final

from coordinator.cli.parser import Command

DESCRIPTION: Final = "List, add and remove users with passwords, of this coordinator or of any Kafka."

EPILOG: Final = """\
examples:
  coordinator users add alice                        asks for the password
  coordinator users list
  coordinator users remove alice
  coordinator users add admin --data-dir data        for a daemon that does not run"""

VERBS: Final = {
    "list": Command("coordinator.cli.users.list", "users, with their mechanisms"),
    "add": Command("coordinator.cli.users.add", "add a user, or change a password"),
    "remove": Command("coordinator.cli.users.remove", "remove a user"),
}
