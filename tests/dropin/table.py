"""All languages with their projects."""

from __future__ import annotations

from typing import Final

from tests.dropin.golang import GO
from tests.dropin.java import JAVA
from tests.dropin.javascript import JAVASCRIPT
from tests.dropin.model import Language, Project
from tests.dropin.python import PYTHON
from tests.dropin.rust import RUST

LANGUAGES: Final = (PYTHON, GO, RUST, JAVASCRIPT, JAVA)


def project_of(name: str) -> tuple[Language, Project]:
    """Return a project and its language. Raises KeyError when no project has that name."""
    for language in LANGUAGES:
        for project in language.projects:
            if project.name == name:
                return language, project
    raise KeyError(f"no project is named {name}; the names are in tests/dropin")
