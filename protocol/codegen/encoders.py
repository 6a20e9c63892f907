"""Writes the encoder of one layout: the parts of a message in order, joined once.

One struct call packs adjacent values of fixed width, the length or count that follows them and an empty tag section (a
pad byte). A compact length below 128, the usual case, is one byte of that call; another branch packs it as a varint.
Bytes and records are not copied before the join.
"""

from __future__ import annotations

import dataclasses

from protocol.codegen.layout import Array, Blob, Field, Fixed, Struct
from protocol.codegen.source import Source, Structs


class EncoderWriter:
    """Writes the body of one encoder."""

    def __init__(self, source: Source, structs: Structs) -> None:
        self._source = source
        self._structs = structs
        self._run: list[tuple[str, str]] = []  # fixed-width values not yet packed: format, expression ("" for a pad)
        self._parts: list[str] = []  # expressions of bytes not yet added to `parts`
        self._started = False
        self._list = "parts"
        self._counter = 0

    def function(self, name: str, layout: Struct, *, version_prefix: int | None = None) -> None:
        source = self._source
        with source.block(f"def {name}(message: {layout.class_name}) -> bytes:"):
            with source.block("try:"):
                if version_prefix is not None:
                    self._run.append(("h", str(version_prefix)))
                self._struct(layout, "message")
                self._pack_run()
                if self._started:
                    self._flush_parts()
                    source.line('return b"".join(parts)')
                elif len(self._parts) == 1:
                    source.line(f"return {self._parts[0]}")
                elif self._parts:
                    source.line(f'return b"".join(({", ".join(self._parts)}))')
                else:
                    source.line('return b""')
            with source.block("except UNENCODABLE as error:"):
                source.line(f'raise unwritable("{layout.class_name}", error) from error')

    # --- runs and parts --------------------------------------------------------------------------------------------

    def _pack(self, run: list[tuple[str, str]]) -> str:
        formats = "".join(each for each, _ in run)
        if not formats.strip("x"):
            return 'b"' + "\\0" * len(formats) + '"'
        return f"{self._structs.pack(formats)}({', '.join(value for _, value in run if value)})"

    def _pack_run(self) -> None:
        run, self._run = self._run, []
        if run:
            self._parts.append(self._pack(run))

    def _pack_run_with_uvarint(self, value: str) -> None:
        """Close the run with an unsigned varint."""
        run, self._run = self._run, []
        short = f"{self._pack([*run, ('B', value)])} if {value} < 128 else "
        long = f"{self._pack(run)} + uvarint({value})" if run else f"uvarint({value})"
        self._parts.append(short + long)

    def _flush_parts(self) -> None:
        """Emit the pending parts; required before a branch or a loop."""
        self._pack_run()
        parts, self._parts = self._parts, []
        if not self._started:
            self._source.line(f"{self._list}: list[bytes] = [{', '.join(parts)}]")
            self._started = True
        elif len(parts) == 1:
            self._source.line(f"{self._list}.append({parts[0]})")
        elif parts:
            self._source.line(f"{self._list} += ({', '.join(parts)})")

    def _temporary(self, prefix: str) -> str:
        self._counter += 1
        return f"{prefix}{self._counter}"

    # --- fields ----------------------------------------------------------------------------------------------------

    def _struct(self, layout: Struct, owner: str) -> None:
        for each in layout.fields:
            self._field(each, f"{owner}.{each.name}")
        if not layout.flexible:
            return
        if layout.tagged:
            self._tag_section(layout, owner)
        else:
            self._run.append(("x", ""))

    def _field(self, each: Field, value: str) -> None:
        kind = each.kind
        if isinstance(kind, Fixed):
            self._run.append((kind.format, value))
        elif isinstance(kind, Blob):
            self._blob(each, kind, value)
        elif isinstance(kind, Array):
            self._array(each, kind, value)
        elif each.nullable:
            self._nullable_struct(kind, value)
        else:
            owner = self._temporary("struct")
            self._source.line(f"{owner} = {value}")
            self._struct(kind, owner)

    def _nullable_struct(self, kind: Struct, value: str) -> None:
        source = self._source
        owner = self._temporary("struct")
        self._flush_parts()
        source.line(f"{owner} = {value}")
        with source.block(f"if {owner} is None:"):
            source.line(f'{self._list}.append(b"\\xff")')
        with source.block("else:"):
            self._run.append(("b", "1"))
            self._struct(kind, owner)
            self._flush_parts()

    def _blob(self, each: Field, kind: Blob, value: str) -> None:
        source = self._source
        blob, length = self._temporary("b"), self._temporary("n")
        encode = ".encode()" if kind.text else ""
        one = " + 1" if kind.compact else ""
        if each.nullable:
            source.line(f"{blob} = {value}")
            null = "0" if kind.compact else "-1"
            if kind.text:
                text, blob = blob, self._temporary("b")
                source.line(f'{blob} = b"" if {text} is None else {text}.encode()')
                source.line(f"{length} = {null} if {text} is None else len({blob}){one}")
            else:
                with source.block(f"if {blob} is None:"):
                    source.line(f'{blob}, {length} = b"", {null}')
                with source.block("else:"):
                    source.line(f"{length} = len({blob}){one}")
        else:
            value = self._not_null(each, value)
            source.line(f"{blob} = {value}{encode}")
            source.line(f"{length} = len({blob}){one}")
        self._close_with_length(kind.compact, "h" if kind.text else "i", length)
        self._parts.append(blob)

    def _not_null(self, each: Field, value: str) -> str:
        """Return the value of a field that may be null in other versions, but not in this one."""
        if not each.type.endswith("| None"):
            return value
        checked = self._temporary("checked")
        self._source.line(f"{checked} = {value}")
        with self._source.block(f"if {checked} is None:"):
            self._source.line(f'raise EncodeError("{each.name} is null")')
        return checked

    def _close_with_length(self, compact: bool, formats: str, length: str) -> None:
        if compact:
            self._pack_run_with_uvarint(length)
        else:
            self._run.append((formats, length))
            self._pack_run()

    def _array(self, each: Field, kind: Array, value: str) -> None:
        source = self._source
        items, count = self._temporary("items"), self._temporary("n")
        one = " + 1" if kind.compact else ""
        if each.nullable:
            null = "0" if kind.compact else "-1"
            source.line(f"{items} = {value}")
            with source.block(f"if {items} is None:"):
                source.line(f"{items}, {count} = [], {null}")
            with source.block("else:"):
                source.line(f"{count} = len({items}){one}")
        else:
            source.line(f"{items} = {self._not_null(each, value)}")
            source.line(f"{count} = len({items}){one}")
        self._close_with_length(kind.compact, "i", count)
        element = kind.element
        if isinstance(element, Fixed) and element.format != "16s":
            self._parts.append(f'pack(f">{{len({items})}}{element.format}", *{items})')
            return
        self._flush_parts()
        item = self._temporary("item")
        with source.block(f"for {item} in {items}:"):
            if isinstance(element, Struct):
                self._struct(element, item)
            else:
                self._field(Field("", element, False, None, "", ""), item)
            self._flush_parts()

    def _tagged_field(self, each: Field, value: str) -> None:
        """Write a field that is not its default; if that is null, the field is an array or a struct that is there."""
        if each.default != "None" or isinstance(each.kind, Blob):
            self._field(each, value)
            return
        if isinstance(each.kind, Struct):
            self._run.append(("b", "1"))
        self._field(dataclasses.replace(each, nullable=False, type=""), value)

    # --- tag sections ----------------------------------------------------------------------------------------------

    def _tag_section(self, layout: Struct, owner: str) -> None:
        """Write the fields that differ from their default, in the order of their tags."""
        source = self._source
        self._flush_parts()
        count, tags = self._temporary("count"), self._temporary("tags")
        source.line(f"{count} = 0")
        source.line(f"{tags}: list[bytes] = []")
        for each in layout.tagged:
            value = f"{owner}.{each.name}"
            with source.block(f"if {_differs(each, value)}:"):
                outer, self._list = self._list, self._temporary("parts")
                self._started = False
                self._tagged_field(each, value)
                self._flush_parts()
                body = self._temporary("body")
                source.line(f'{body} = b"".join({self._list})')
                source.line(f"{tags} += (uvarint({each.tag}), uvarint(len({body})), {body})")
                source.line(f"{count} += 1")
                self._list, self._started = outer, True
            if each.writes_null:
                with source.block("else:"):
                    source.line(f'{tags} += (uvarint({each.tag}), b"\\1\\0")')
                    source.line(f"{count} += 1")
        self._parts.append(f"uvarint({count})")
        self._parts.append(f"*{tags}")
        # A starred part needs a list display or a tuple, never a lone append.
        source.line(f"{self._list} += ({', '.join(self._parts)})")
        self._parts = []


def _differs(each: Field, value: str) -> str:
    """Return the condition under which a tagged field has to be written."""
    kind = each.kind
    if isinstance(kind, Struct) and not each.nullable:
        inner = [_differs(field, f"{value}.{field.name}") for field in (*kind.fields, *kind.tagged)]
        return " or ".join(inner)
    if each.default == "None":
        return f"{value} is not None"
    if each.default in ("0", "False", "[]", '""', "b''"):
        return value
    return f"{value} != {each.default}"
