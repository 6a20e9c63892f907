"""Writes the verbs for Go: verbs.go, with and without a test that ends with an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from clients.generate.model import NOTICE, Parameter, Verb, camel, comment, shown, verbs
from coordinator.server.faults import Fault
from coordinator.testing.http import verb_names
from coordinator.testing.verbs import GroupView, Payload, TopicPartition

GO_TYPES: Final[Mapping[Any, str]] = {
    Mapping[str, int]: "Topics",
    Iterable[Payload]: "[]string",
    Payload: "string",
    str: "string",
    int: "int",
    float: "time.Duration",
    int | None: "int",
    Fault | int: "Fault",
}
GO_RESULTS: Final[Mapping[Any, str]] = {
    dict[str, str]: "map[string]string",
    dict[TopicPartition, int]: "map[TopicPartition]int64",
    list[str]: "[]string",
    list[Fault]: "[]Fault",
    GroupView: "Group",
    Fault: "Fault",
    str: "string",
    int: "int64",
}


def pascal(name: str) -> str:
    """Return a name of Python as Go exports it."""
    return "".join("ID" if each == "id" else each.capitalize() for each in name.split("_"))


def go_name(name: str) -> str:
    """Return a name of Python as Go writes a parameter."""
    return {"error": "errorName"}.get(name, camel(name).replace("Id", "ID"))


def _go_type(each: Parameter) -> str:
    return "time.Duration" if each.name == "ms" else GO_TYPES[each.type]


def _go_text(each: Parameter) -> str:
    """Return the value of a parameter as the query has it."""
    name = go_name(each.name)
    if each.name == "ms":
        return f"{name}.Milliseconds()"
    return {"time.Duration": f"{name}.Seconds()", "Fault": f"{name}.Number"}.get(_go_type(each), name)


def _go_options(found: list[Verb]) -> list[str]:
    """Return a function for each optional parameter: one for all verbs that have it."""
    uses: dict[str, list[tuple[Verb, Parameter]]] = {}
    for verb in found:
        for each in verb.parameters:
            if each.is_optional:
                uses.setdefault(each.name, []).append((verb, each))
    lines: list[str] = []
    for name, places in uses.items():
        each = places[0][1]
        if len({_go_type(other) for _, other in places}) != 1:
            raise TypeError(f"{name} has several types; give each its own name")
        said = ", ".join(
            pascal(verb.name) + (f" ({shown(other.default)})" if other.has_default else "") for verb, other in places
        )
        lines += ["", *comment([f"{_option(name)} sets `{name}` of these verbs (default): {said}."], str, "// ")]
        lines.append(f"func {_option(name)}({go_name(name)} {_go_type(each)}) Option {{")
        lines += [f'\treturn Option{{"{name}", {_go_text(each)}}}', "}"]
    return lines


def _option(name: str) -> str:
    return f"With{pascal(name)}"


def code() -> str:
    """Return verbs.go."""
    found = verbs()
    lines = [f"// Code {NOTICE}. DO NOT EDIT.", ""]
    lines += ["package coordinator", "", "import (", '\t"context"', '\t"time"', ")", *_go_options(found)]
    for verb in found:
        needed = [each for each in verb.parameters if not each.is_optional]
        has_options = len(needed) < len(verb.parameters)
        places = [f"{go_name(each.name)} {_go_type(each)}" for each in needed]
        places += ["options ...Option"] * has_options
        passed = [go_name(each.name) for each in needed] + ["options..."] * has_options
        sent = "".join(f', Option{{"{each.name}", {_go_text(each)}}}' for each in needed)
        result = GO_RESULTS.get(verb.returns)
        name = pascal(verb.name)
        text = comment([f"{name}: {verb.text[0]}", *verb.text[1:]], pascal_or_parameter(verb), "// ")
        options = "options" if has_options else "nil"
        lines += ["", *text]
        if result:
            lines.append(f"func (s *Server) {name}({', '.join(['ctx context.Context', *places])}) ({result}, error) {{")
            lines.append(f'\treturn ask[{result}](ctx, s, "{verb.name}", {options}{sent})')
        else:
            lines.append(f"func (s *Server) {name}({', '.join(['ctx context.Context', *places])}) error {{")
            lines.append(f'\t_, err := ask[struct{{}}](ctx, s, "{verb.name}", {options}{sent})')
            lines.append("\treturn err")
        lines += ["}", "", f"// {name} is Server.{name}; an error ends the test."]
        call = f"c.Server.{name}({', '.join(['c.ctx', *passed])})"
        lines.append(f"func (c *Coordinator) {name}({', '.join(places)}){f' {result}' if result else ''} {{")
        lines.append("\tc.t.Helper()")
        if result:
            lines += [f"\tresult, err := {call}", "\tc.check(err)", "\treturn result"]
        else:
            lines.append(f"\tc.check({call})")
        lines.append("}")
    return "\n".join([*lines, ""])


def pascal_or_parameter(verb: Verb) -> Callable[[str], str]:
    """Return how Go names what stands between backticks in the docstring of this verb."""
    optional = {each.name: each.is_optional for each in verb.parameters}

    def rename(name: str) -> str:
        if name in optional:
            return _option(name) if optional[name] else go_name(name)
        return pascal(name) if name in verb_names() else name

    return rename
