"""Lines of generated source, and the names used in them."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

RESERVED: Final = frozenset(keyword.kwlist) | {
    "data",
    "position",
    "size",
    "left",
    "message",
    "parts",
    "tags",
    "tag",
    "end",
    "length",
}


class Source:
    """Collects lines; `block` indents what is written inside it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._indent = 0

    def line(self, text: str = "") -> None:
        self.lines.append("    " * self._indent + text if text else "")

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        self.line(header)
        self._indent += 1
        yield
        self._indent -= 1

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


class Structs:
    """The struct formats that a module uses; each is compiled once, when the module is loaded."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}

    def unpack(self, formats: str) -> str:
        return self._name("unpack", "unpack_from", formats)

    def pack(self, formats: str) -> str:
        return self._name("pack", "pack", formats)

    def _name(self, prefix: str, method: str, formats: str) -> str:
        # "?" cannot be part of a name; "o" is no format of the struct module.
        name = f"_{prefix}_{formats.replace('?', 'o')}"
        return self._names.setdefault((method, formats), name)

    def definitions(self) -> list[str]:
        return sorted(f'{name} = Struct(">{formats}").{method}' for (method, formats), name in self._names.items())


class Scope:
    """The local names for the fields of one struct: unique within a function, where structs are read inline."""

    def __init__(self, number: int) -> None:
        self._number = number

    def name(self, field: str) -> str:
        return f"{field}_{self._number}" if self._number or field in RESERVED else field
