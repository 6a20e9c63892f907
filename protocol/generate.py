"""Write `protocol/generated` from the declarations: `python -m protocol.generate`; `--check` only reports stale files.

There is one module per API, with a decoder and an encoder per message and version. Versions with equal layouts share
their functions; the tables at the end of a module map versions to functions. `index.py` lists the modules, so that the
codec can load a module when its API is first used. The output depends on the declarations alone: it has the same bytes
on every machine.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from protocol.api_keys import ApiKey
from protocol.codegen.decoders import DecoderWriter
from protocol.codegen.encoders import EncoderWriter
from protocol.codegen.layout import Struct, resolve
from protocol.codegen.source import Source, Structs
from protocol.schema import MessageSpec, message_spec

GENERATED: Final = Path(__file__).parent / "generated"
RECORDS: Final = (
    "consumer_group_records",
    "consumer_protocol",
    "offsets_log",
    "share_group_records",
    "transaction_log",
)
"""Modules of declarations that are not requests or responses."""

PRIMITIVES: Final = (
    "MALFORMED",
    "TOO_SHORT",
    "UNENCODABLE",
    "ZERO_UUID",
    "read_tag",
    "read_tag_count_tail",
    "read_uvarint_tail",
    "skip_tags",
    "unreadable",
    "unwritable",
    "uvarint",
)
"""Names that generated code may use, in the order of its import list."""

_HEADER: Final = '''"""{title}: decoders and encoders for every version.

Written by `python -m protocol.generate` from `{origin}`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

'''


def class_name(key: ApiKey, kind: str) -> str:
    """Return the name of the class that declares the request or response of an API."""
    return "".join(word.capitalize() for word in key.name.split("_")) + kind


def declared_classes(key: ApiKey) -> tuple[type, type]:
    """Return the request and the response class of an API."""
    module = importlib.import_module(f"protocol.messages.{key.module_name}")
    return getattr(module, class_name(key, "Request")), getattr(module, class_name(key, "Response"))


def record_classes(module_name: str) -> list[type]:
    """Return the classes that a module of records declares, by name."""
    module = importlib.import_module(f"protocol.messages.{module_name}")
    found = [each for each in vars(module).values() if isinstance(each, type) and hasattr(each, "__message_spec__")]
    return sorted((each for each in found if each.__module__ == module.__name__), key=lambda each: each.__name__)


def snake_case(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


class ModuleWriter:
    """Writes one generated module."""

    def __init__(self, origin: str, title: str) -> None:
        self._origin = origin
        self._title = title
        self._source = Source()
        self._structs = Structs()
        self._tables: list[str] = []

    def add(self, cls: type, table_suffix: str) -> None:
        """Write the decoders and encoders of one class, and the tables from version to function."""
        spec = message_spec(cls)
        name = snake_case(cls.__name__)
        arguments = "bytes, int, int" if table_suffix == "REQUEST" else "bytes, int"
        decoders = self._decoders(cls, name, spec, is_bounded=table_suffix == "REQUEST")
        self._table("DECODE", table_suffix, f"Callable[[{arguments}], {cls.__name__}]", decoders)
        self._table("ENCODE", table_suffix, f"Callable[[{cls.__name__}], bytes]", self._encoders(cls, name, spec))

    def _decoders(self, cls: type, name: str, spec: MessageSpec, *, is_bounded: bool) -> dict[int, str]:
        written: dict[Struct, str] = {}
        functions: dict[int, str] = {}
        for version in spec.versions:
            layout = resolve(cls, version, flexible=spec.flexible_in(version))
            if layout not in written:
                written[layout] = f"decode_{name}_v{version}"
                self._source.line()
                self._source.line()
                writer = DecoderWriter(self._source, self._structs, is_bounded=is_bounded)
                writer.function(written[layout], layout)
            functions[version] = written[layout]
        return functions

    def _encoders(self, cls: type, name: str, spec: MessageSpec) -> dict[int, str]:
        written: dict[tuple[Struct, int | None], str] = {}
        functions: dict[int, str] = {}
        for version in spec.versions:
            layout = resolve(cls, version, flexible=spec.flexible_in(version))
            prefix = version if spec.api_key is None else None  # a record starts with its version
            if (layout, prefix) not in written:
                written[layout, prefix] = f"encode_{name}_v{version}"
                self._source.line()
                self._source.line()
                EncoderWriter(self._source, self._structs).function(
                    written[layout, prefix], layout, version_prefix=prefix
                )
            functions[version] = written[layout, prefix]
        return functions

    def _table(self, direction: str, suffix: str, signature: str, functions: dict[int, str]) -> None:
        rows = "".join(f"    {version}: {name},\n" for version, name in functions.items())
        self._tables.append(f"{direction}_{suffix}: Final[dict[int, {signature}]] = {{\n{rows}}}\n")

    def text(self) -> str:
        body = self._source.text
        tables = "\n".join(self._tables)
        structs = self._structs.definitions()
        return (
            _HEADER.format(title=self._title, origin=self._origin)
            + "\n".join(self._imports(body + tables, has_structs=bool(structs)))
            + "\n"
            + ("\n" + "\n".join(structs) + "\n" if structs else "")
            + body
            + "\n\n"
            + tables
        )

    def _imports(self, code: str, *, has_structs: bool) -> Iterator[str]:
        words = set(_words(code))
        yield "from collections.abc import Callable"
        from_struct = [
            *(["Struct"] if has_structs else []),
            *(each for each in ("pack", "unpack_from") if each in words),
        ]
        if from_struct:
            yield f"from struct import {', '.join(from_struct)}"
        yield "from typing import Final"
        yield ""
        errors = [each for each in ("DecodeError", "EncodeError", "TooManyElementsError") if each in words]
        if errors:
            yield f"from protocol.errors import {', '.join(errors)}"
        module = importlib.import_module(self._origin)
        classes = [each for each in words if isinstance(getattr(module, each, None), type)]
        classes.sort(key=str.lower)
        yield f"from {self._origin} import {_wrapped(classes)}"
        yield f"from protocol.primitives import {_wrapped([each for each in PRIMITIVES if each in words])}"


def _words(code: str) -> Iterator[str]:
    word = ""
    for letter in code:
        if letter.isalnum() or letter == "_":
            word += letter
        elif word:
            yield word
            word = ""


def _wrapped(names: list[str]) -> str:
    return "(\n" + "".join(f"    {each},\n" for each in names) + ")" if len(names) > 1 else names[0]


def api_module(key: ApiKey) -> str:
    """Return the source of the generated module of one API."""
    writer = ModuleWriter(f"protocol.messages.{key.module_name}", class_name(key, ""))
    request, response = declared_classes(key)
    writer.add(request, "REQUEST")
    writer.add(response, "RESPONSE")
    return writer.text()


def record_module(module_name: str) -> str:
    """Return the source of the generated module of a module of records."""
    writer = ModuleWriter(f"protocol.messages.{module_name}", module_name.replace("_", " ").capitalize())
    for each in record_classes(module_name):
        writer.add(each, snake_case(each.__name__).upper())
    return writer.text()


def index_module() -> str:
    """Return the source of the index of APIs, which the codec reads before it loads a module."""
    lines = [
        '"""Every declared API: key -> name of its modules, first and last version, first flexible version.\n',
        "Written by `python -m protocol.generate`. Do not edit: change the declarations.",
        '"""\n',
        "# fmt: off",
        "from __future__ import annotations\n",
        "from typing import Final\n",
        "NEVER: Final = 1 << 15  # above any version\n",
        "APIS: Final[dict[int, tuple[str, int, int, int]]] = {",
    ]
    for key in ApiKey:
        request, response = (message_spec(each) for each in declared_classes(key))
        if request != response:
            raise ValueError(f"{key.name}: the request and the response must have the same versions")
        flexible = str(request.flexible_since) if request.flexible_since <= request.max_version else "NEVER"
        lines.append(
            f'    {key.value}: ("{key.module_name}", {request.min_version}, {request.max_version}, {flexible}),'
        )
    return "\n".join([*lines, "}", ""])


def generated_files() -> dict[str, str]:
    """Return the files of `protocol/generated` by name, with their contents."""
    files = {f"{key.module_name}.py": api_module(key) for key in ApiKey}
    files |= {f"{name}.py": record_module(name) for name in RECORDS}
    files["index.py"] = index_module()
    return files


def stale_files(directory: Path = GENERATED) -> list[str]:
    """Return the names of files that are missing, differ from the declarations, or do not belong there."""
    expected = generated_files()
    present = {each.name for each in directory.glob("*.py")} - {"__init__.py"}
    differing = [
        name
        for name, text in expected.items()
        if name not in present or (directory / name).read_text(encoding="utf-8") != text
    ]
    return sorted([*differing, *(present - expected.keys())])


def main(arguments: list[str]) -> int:
    stale = stale_files()
    if "--check" in arguments:
        if stale:
            sys.stderr.write(f"stale: {', '.join(stale)}; run `make generate`\n")
        return 1 if stale else 0
    expected = generated_files()
    for name in stale:
        if name in expected:
            (GENERATED / name).write_text(expected[name], encoding="utf-8")
        else:
            (GENERATED / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
