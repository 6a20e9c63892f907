"""Writes the decoder of one layout: one function that reads from left to right with as few calls as possible.

One struct call reads adjacent values of fixed width and the length or count that follows them (of a varint, the first
byte). Arrays are loops in the same function.
Safety: reading a fixed run or a byte past the end raises. A slice past the end does not, but `position` is then beyond
`size`, and the next read or the check before the return fails. A count is checked against the remaining bytes.
The decoder of a request accepts at most `left` elements: entries of arrays, nested ones too, and tagged fields. Each
becomes a Python object on the server's event loop, which a frame of very small elements would block. Plain numbers are
unpacked by one call; eight of them, or a rest, count as one. A string of a request has at most 65535 bytes; Kafka
accepts 32767, and the server answers lengths between the two with an error.
"""

from __future__ import annotations

from protocol.codegen.layout import SIZES, Array, Blob, Field, Fixed, Kind, Struct, minimum_size
from protocol.codegen.source import Scope, Source, Structs

# Bytes that are not UTF-8 become U+FFFD, as in Kafka: some clients put any bytes into the metadata of a commit.
LENIENT = '.decode("utf-8", "replace")'


class DecoderWriter:
    """Writes the body of one decoder. With `is_bounded` the decoder has a limit of elements as a parameter."""

    def __init__(self, source: Source, structs: Structs, *, is_bounded: bool = False) -> None:
        self._source = source
        self._structs = structs
        self._is_bounded = is_bounded
        self._run: list[tuple[str, str]] = []  # fixed-width values not yet read: format, variable
        self._counter = 0
        self._scopes = 0

    def function(self, name: str, layout: Struct) -> None:
        source = self._source
        limit = ", left: int" if self._is_bounded else ""
        with source.block(f"def {name}(data: bytes, position: int{limit}) -> {layout.class_name}:"):
            with source.block("try:"):
                if _varies(layout):
                    source.line("size = len(data)")
                result = self._struct(layout)
                self._flush()
                if _varies(layout):
                    with source.block("if position > size:"):
                        source.line("raise DecodeError(TOO_SHORT)")
                source.line(f"return {result}")
            with source.block("except MALFORMED as error:"):
                source.line("raise unreadable(error) from None")

    # --- runs of fixed width ---------------------------------------------------------------------------------------

    def _fixed(self, formats: str, target: str) -> None:
        self._run.append((formats, target))

    def _flush(self) -> None:
        run, self._run = self._run, []
        if not run:
            return
        formats = "".join(each for each, _ in run)
        targets = [each for _, each in run]
        if formats == "B":
            self._source.line(f"{targets[0]} = data[position]")
        elif len(run) == 1:
            self._source.line(f"({targets[0]},) = {self._structs.unpack(formats)}(data, position)")
        else:
            self._source.line(f"{', '.join(targets)} = {self._structs.unpack(formats)}(data, position)")
        self._source.line(f"position += {sum(SIZES[each] for each, _ in run)}")

    def _length(self, compact: bool, wide: bool) -> str:
        """Read a length or count; in compact form the value is one higher, and 0 is null."""
        name = self._temporary("n")
        self._fixed("B" if compact else "i" if wide else "h", name)
        self._flush()
        if compact:
            with self._source.block(f"if {name} > 127:"):
                self._source.line(f"{name}, position = read_uvarint_tail(data, position, {name})")
                if not wide and self._is_bounded:
                    with self._source.block(f"if {name} > 0x10000:"):
                        self._source.line('raise DecodeError("a string is longer than 65535 bytes")')
        return name

    def _temporary(self, prefix: str) -> str:
        self._counter += 1
        return f"{prefix}{self._counter}"

    # --- structs ---------------------------------------------------------------------------------------------------

    def _struct(self, layout: Struct) -> str:
        """Read the fields of a struct; returns the expression that constructs it."""
        scope = Scope(self._scopes)
        self._scopes += 1
        for each in layout.fields:
            self._field(each, scope.name(each.name))
        if layout.flexible:
            self._tag_section(layout, scope)
        arguments = [scope.name(name) if absent is None else absent for name, absent in layout.arguments]
        return f"{layout.class_name}({', '.join(arguments)})"

    def _field(self, each: Field, target: str) -> None:
        kind = each.kind
        if isinstance(kind, Fixed):
            self._fixed(kind.format, target)
        elif isinstance(kind, Blob):
            self._blob(each, kind, target)
        elif isinstance(kind, Array):
            self._array(each, kind, target)
        elif each.nullable:
            self._nullable_struct(each, kind, target)
        else:
            self._nested(kind, target)

    def _declare(self, each: Field, target: str) -> None:
        """Declare the type where the inferred one would be too narrow; that costs nothing at run time."""
        if each.type:
            self._source.line(f"{target}: {each.type}")

    def _nested(self, kind: Struct, target: str) -> None:
        result = self._struct(kind)
        self._flush()
        self._source.line(f"{target} = {result}")

    def _nullable_struct(self, each: Field, kind: Struct, target: str) -> None:
        present = self._temporary("n")
        self._fixed("b", present)
        self._flush()
        self._declare(each, target)
        null = "< 0" if each.tag is None else "<= 0"  # in a tag, Kafka writes null as 0
        with self._source.block(f"if {present} {null}:"):
            self._source.line(f"{target} = None")
        with self._source.block("else:"):
            self._nested(kind, target)

    # --- strings and bytes -----------------------------------------------------------------------------------------

    def _blob(self, each: Field, kind: Blob, target: str) -> None:
        source = self._source
        length = self._length(kind.compact, wide=not kind.text)
        value = self._blob_value(kind, length)
        advance = f"position += {length} - 1" if kind.compact else f"position += {length}"
        if not each.nullable:
            with source.block(f"if not {length}:" if kind.compact else f"if {length} < 0:"):
                source.line(f'raise DecodeError("{each.name} is null")')
            source.line(f"{target} = {value}")
            source.line(advance)
            return
        self._declare(each, target)
        with source.block(f"if {length}:" if kind.compact else f"if {length} >= 0:"):
            source.line(f"{target} = {value}")
            source.line(advance)
        with source.block("else:"):  # any negative length, as in Kafka
            source.line(f"{target} = None")

    @staticmethod
    def _blob_value(kind: Blob, length: str) -> str:
        end = f"{length} - 1" if kind.compact else length
        return f"data[position : position + {end}]" + (LENIENT if kind.text else "")

    # --- arrays ----------------------------------------------------------------------------------------------------

    def _array(self, each: Field, kind: Array, target: str) -> None:
        source = self._source
        count = self._length(kind.compact, wide=True)
        self._declare(each, target)
        if each.nullable:
            with source.block(f"if not {count}:" if kind.compact else f"if {count} < 0:"):
                source.line(f"{target} = None")
            with source.block("else:"):
                self._elements(each, kind, target, count)
            return
        self._elements(each, kind, target, count)

    def _elements(self, each: Field, kind: Array, target: str, count: str) -> None:
        source = self._source
        if kind.compact:
            source.line(f"{count} -= 1")
        smallest = minimum_size(kind.element)
        needed = count if smallest == 1 else f"{count} * {smallest}"
        with source.block(f"if {count} < 0 or {needed} > size - position:"):
            source.line(f'raise DecodeError("{each.name} has more elements than bytes, or is null")')
        is_numbers = isinstance(kind.element, Fixed) and kind.element.format != "16s"
        self._count(f"{count} + 7 >> 3" if is_numbers else count)
        if isinstance(kind.element, Fixed) and kind.element.format != "16s":
            source.line(f'{target} = list(unpack_from(f">{{{count}}}{kind.element.format}", data, position))')
            source.line(f"position += {needed}")
            return
        elements = self._temporary("list")  # the target may be declared as nullable, this is not
        source.line(f"{elements}: list[{kind.element_type}] = []")
        with source.block(f"for _ in range({count}):"):
            source.line(f"{elements}.append({self._element(each, kind.element)})")
        source.line(f"{target} = {elements}")

    def _count(self, elements: str) -> None:
        """Subtract elements from the remaining limit before the first of them is read."""
        if self._is_bounded:
            self._source.line(f"left -= {elements}")
            with self._source.block("if left < 0:"):
                self._source.line("raise TooManyElementsError")

    def _element(self, each: Field, kind: Kind) -> str:
        if isinstance(kind, Struct):
            result = self._struct(kind)
        else:
            result = self._temporary("element")
            self._field(Field(each.name, kind, False, None, "", ""), result)
        self._flush()
        return result

    # --- tag sections ----------------------------------------------------------------------------------------------

    def _tag_section(self, layout: Struct, scope: Scope) -> None:
        source = self._source
        tags = self._temporary("tags")
        self._fixed("B", tags)
        self._flush()
        for each in layout.tagged:
            source.line(f"{scope.name(each.name)}: {each.type} = {each.default}")
        with source.block(f"if {tags}:"):
            with source.block(f"if {tags} > 127:"):
                source.line(f"{tags}, position = read_tag_count_tail(data, position, {tags})")
            self._count(tags)
            if not layout.tagged:
                source.line(f"position = skip_tags(data, position, {tags})")
                return
            tag, previous, end = self._temporary("tag"), self._temporary("previous"), self._temporary("end")
            source.line(f"{previous} = -1")
            with source.block(f"for _ in range({tags}):"):
                source.line(f"{tag}, {end}, position = read_tag(data, position, {previous})")
                source.line(f"{previous} = {tag}")
                for number, each in enumerate(layout.tagged):
                    with source.block(f"{'el' if number else ''}if {tag} == {each.tag}:"):
                        self._field(each.undeclared(), scope.name(each.name))
                        self._flush()
                        with source.block(f"if position != {end}:"):
                            source.line(f'raise DecodeError("{each.name} does not fill its tag")')
                source.line(f"position = {end}")


def _varies(kind: Kind) -> bool:
    """Return True if the layout has a part of variable length, so that `position` may pass the end unnoticed."""
    if isinstance(kind, Fixed):
        return False
    if isinstance(kind, Struct):
        return bool(kind.tagged) or kind.flexible or any(each.nullable or _varies(each.kind) for each in kind.fields)
    return True
