"""Writes the verbs for JavaScript: verbs.js, and its types in verbs.d.ts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from clients.generate.model import NOTICE, Parameter, Verb, camel, comment, shown, verbs
from coordinator.server.faults import Fault
from coordinator.testing.verbs import GroupView, Payload, TopicPartition

JS_RESULTS: Final[Mapping[Any, str]] = {
    GroupView: "groupOf({})",
    Fault: "faultOf({})",
    list[Fault]: "({}).map(faultOf)",
}
TS_TYPES: Final[Mapping[Any, str]] = {
    Mapping[str, int]: "Record<string, number>",
    Iterable[Payload]: "Iterable<Payload>",
    Payload: "Payload",
    str: "string",
    int: "number",
    float: "number",
    int | None: "number",
    Fault | int: "Fault | number",
    dict[str, str]: "Record<string, string>",
    dict[TopicPartition, int]: "Record<string, number>",
    list[str]: "string[]",
    list[Fault]: "Fault[]",
    GroupView: "Group",
    Fault: "Fault",
    type(None): "void",
}


def _js_parameters(verb: Verb) -> str:
    def one(each: Parameter) -> str:
        return camel(each.name) + (f" = {shown(each.default)}" if each.has_default else "")

    places = [one(each) for each in verb.parameters if not each.is_keyword]
    if names := [one(each) for each in verb.parameters if each.is_keyword]:
        places.append(f"{{ {', '.join(names)} }} = {{}}")
    return ", ".join(places)


def code() -> str:
    """Return verbs.js."""
    lines = [f"// {NOTICE.capitalize()}", "", 'import { ask, faultOf, groupOf } from "./ask.js";', ""]
    lines += ["/** The verbs of a test server, at the URL that it prints. */", "export class Verbs {"]
    lines += ['  constructor(url, token = "") {', "    this.url = url;", "    this.token = token;", "  }"]
    for verb in verbs():
        sent = ", ".join(
            each.name if camel(each.name) == each.name else f"{each.name}: {camel(each.name)}"
            for each in verb.parameters
        )
        call = f'await ask(this, "{verb.name}", {f"{{ {sent} }}" if sent else "{}"})'
        result = JS_RESULTS.get(verb.returns, "{}").format(call)
        lines += ["", "  /**", *comment(verb.text, camel, "   * "), "   */"]
        lines += [f"  async {camel(verb.name)}({_js_parameters(verb)}) {{", f"    return {result};", "  }"]
    return "\n".join([*lines, "}", ""])


def types() -> str:
    """Return verbs.d.ts."""
    lines = [f"// {NOTICE.capitalize()}", "", 'import type { Fault, Group, Payload } from "./ask.js";', ""]
    lines += ["/** The verbs of a test server, at the URL that it prints. */", "export class Verbs {"]
    lines += ["  constructor(url: string, token?: string);", "  readonly url: string;", "  readonly token: string;"]
    for verb in verbs():
        places = [
            f"{camel(each.name)}{'?' * each.is_optional}: {TS_TYPES[each.type]}"
            for each in verb.parameters
            if not each.is_keyword
        ]
        names = [f"{camel(each.name)}?: {TS_TYPES[each.type]}" for each in verb.parameters if each.is_keyword]
        if names:
            places.append(f"options?: {{ {'; '.join(names)} }}")
        defaults = ", ".join(
            f"{camel(each.name)}={shown(each.default)}" for each in verb.parameters if each.has_default
        )
        text = [*verb.text, *([f"Defaults: {defaults}."] if defaults else [])]
        lines += ["", "  /**", *comment(text, camel, "   * "), "   */"]
        lines.append(f"  {camel(verb.name)}({', '.join(places)}): Promise<{TS_TYPES[verb.returns]}>;")
    return "\n".join([*lines, "}", ""])
