"""The passwords of users as SCRAM verifiers, from which no password can be read, and with which no client can log in.

They are one document in JSON. Source: Kafka's `ScramImage`, and `UserScramCredentialRecord` for its fields.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Final

from coordinator.security.json_document import read_json
from coordinator.security.scram import BY_NAME, ScramCredential, ScramMechanism

_VERSION: Final = 1

Users = Mapping[str, Mapping[ScramMechanism, ScramCredential]]


class CredentialsError(ValueError):
    """The document cannot be used. The message says why, without any of its content."""


class Credentials:
    """All users. `users` is replaced, never changed, so that a document is made from one state."""

    __slots__ = ("users",)

    def __init__(self, users: Users) -> None:
        self.users = users

    def of(self, user: str, mechanism: ScramMechanism) -> ScramCredential | None:
        return self.users.get(user, {}).get(mechanism)

    def any_of(self, user: str) -> tuple[ScramMechanism, ScramCredential] | None:
        """Return one credential of a user, to check a password with; None if there is none."""
        for mechanism in BY_NAME.values():
            credential = self.of(user, mechanism)
            if credential is not None:
                return mechanism, credential
        return None


def document_of(users: Users) -> str:
    """Return the document of these users."""
    entries: dict[str, dict[str, Any]] = {
        user: {
            mechanism.name: {
                "salt": b64encode(each.salt).decode(),
                "storedKey": b64encode(each.stored_key).decode(),
                "serverKey": b64encode(each.server_key).decode(),
                "iterations": each.iterations,
            }
            for mechanism, each in by_mechanism.items()
        }
        for user, by_mechanism in sorted(users.items())
    }
    return json.dumps({"version": _VERSION, "users": entries}, indent=1) + "\n"


def parse_document(text: str) -> Users:
    """Return the users of a document. Raises CredentialsError."""
    try:
        found = read_json(text)
        if found["version"] != _VERSION:
            raise CredentialsError(f"it has version {found['version']!r}, but only {_VERSION} is known")
        return {
            user: {
                BY_NAME[name]: ScramCredential(
                    b64decode(each["salt"], validate=True),
                    b64decode(each["storedKey"], validate=True),
                    b64decode(each["serverKey"], validate=True),
                    int(each["iterations"]),
                )
                for name, each in by_mechanism.items()
            }
            for user, by_mechanism in found["users"].items()
        }
    except CredentialsError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CredentialsError(f"it is not a document of users ({type(error).__name__})") from None
