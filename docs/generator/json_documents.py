"""What commands print with ``--json``, from the types that print it (``cli.schemas``), and what of
it may not change without a new version."""

from __future__ import annotations

import ast
import json
import textwrap
from dataclasses import dataclass, field
from typing import Any

from generator.markdown import codes, page, section
from generator.source import defined
from swapdesk.cli.cli_context import declared_of, named
from swapdesk.cli.main import REMOVED, commands
from swapdesk.cli.output import SCHEMA_VERSION, json_text
from swapdesk.cli.schemas import (
    all_schemas,
    document_types,
    schema_of,
    structs_in,
)
from swapdesk.flows.batch.progress import HEADS

EXPORT = "flows/orders/order_export.py"
WIDE = 96


@dataclass
class Shape:
    """The fields of an object by name. ``name`` alone: an object that is told elsewhere."""

    fields: dict[str, Shape | None] = field(default_factory=dict)
    many: bool = False
    name: str = ""


def json_page() -> str:
    return page(
        "JSON documents",
        "The fields of what commands print with `--json`, from the types that print them. Most"
        " commands print one document; `orders watch`, `listen` and `demo --auto` print one for"
        " each line."
        " `[...]` is a list, `{NAME: ...}` an object with names of its own, and an object may be"
        " null.",
        f"Every document and every error has a `schemaVersion`, which is {SCHEMA_VERSION}; it is"
        " raised when a field is removed or becomes another one, and not when one is added."
        " `swapdesk schema COMMAND` prints the JSON Schema with every type,"
        " [schemas.json](schemas.json) has all of them.",
        "`Order`, `Quote` and `Chain` are"
        " objects of the API ([api.md](api.md)); `**Quote` stands for all fields of one. Errors are"
        " in [errors.md](errors.md#errors-as-json). What fields mean, where a name does not say"
        " it, is in [behaviour.md](behaviour.md).",
        *(_printed(place, names) for place, names in _places().items()),
        section(
            "Other output",
            "These print no document of this program.",
            "\n".join(
                f"- `swapdesk {name}` {declared_of(command).instead}."
                for name, command in commands().items()
                if declared_of(command).instead
            ),
        ),
        section(
            "Columns of orders export",
            "Columns of the CSV, and fields of each of the `orders` with `--format json`, beside"
            " `total` and `at`.",
            codes(_columns()),
        ),
        section("Columns of batch export", codes(HEADS)),
    )


def schemas_file() -> str:
    return json.dumps(json.loads(json_text(all_schemas())), indent=1, ensure_ascii=False) + "\n"


def _columns() -> list[str]:
    row = defined(EXPORT, "_row")
    assert row is not None
    return [
        str(ast.literal_eval(key))
        for node in ast.walk(row)
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant)
    ]


def _places() -> dict[str, list[str]]:
    """The types of documents, each with the commands that print it."""
    columns: dict[str, list[str]] = {}
    for name, places in document_types().items():
        for place in places:
            columns.setdefault(place, []).append(name)
    return columns


def _told_once() -> set[str]:
    """Objects of more than one document, which are a section of their own as documents are."""
    return {place.partition(":")[2] for place in document_types()["orders show"]}


def _printed(place: str, names: list[str]) -> str:
    kind = named(place)
    defs = schema_of(names[0])["$defs"]
    ours = {struct.__name__ for struct in structs_in(kind)}
    description = defs[kind.__name__].get("description", "")
    printed = ", ".join(f"`swapdesk {name}`" for name in names)
    shape = _shape(defs[kind.__name__], defs, ours - (_told_once() - {kind.__name__}))
    return section(kind.__name__, f"Printed by {printed}.", description, _block(shape))


def _shape(schema: dict[str, Any], defs: dict[str, Any], ours: set[str]) -> Shape | None:
    """None for what is no object."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if "properties" not in defs[name]:
            return None
        return _shape(defs[name], defs, ours) if name in ours else Shape(name=name)
    if "anyOf" in schema:
        shapes = (_shape(choice, defs, ours) for choice in schema["anyOf"])
        return next((shape for shape in shapes if shape is not None), None)
    if isinstance(schema.get("items"), dict):
        inner = _shape(schema["items"], defs, ours)
        return inner and Shape(inner.fields, many=True, name=inner.name)
    if isinstance(schema.get("additionalProperties"), dict):
        inner = _shape(schema["additionalProperties"], defs, ours)
        return inner and Shape({"NAME": inner})
    if "properties" not in schema:
        return None
    shape = Shape(
        {name: _shape(member, defs, ours) for name, member in schema["properties"].items()}
    )
    for beside in schema.get("allOf", ()):
        merged = _shape(beside, defs, ours)
        told_here = merged is not None and not merged.name
        name = beside["$ref"].rpartition("/")[2]
        shape.fields |= merged.fields if merged and told_here else {f"**{name}": None}
    return shape


def _block(shape: Shape | None) -> str:
    assert shape is not None
    lines = [shape.name] if shape.name else _lines(shape, "")
    return "\n".join(["```", *lines, "```"])


def _lines(shape: Shape, before: str) -> list[str]:
    """An object, on one line where it fits, else with each object in it on lines of its own."""
    begin, end = ("[{", "}]") if shape.many else ("{", "}")
    parts = [_lines_of(name, inner) for name, inner in shape.fields.items()]
    flat = f"{before}{begin}{', '.join(part[0] for part in parts)}{end}"
    if all(len(part) == 1 for part in parts) and len(flat) <= WIDE:
        return [flat]
    lines, plain = [f"{before}{begin}"], list[str]()
    for part in [*parts, []]:
        if len(part) == 1:
            plain.append(f"{part[0].replace(' ', _HELD)},")
            continue
        wrapped = textwrap.wrap(" ".join(plain), WIDE, break_on_hyphens=False)
        lines += [f"  {line.replace(_HELD, ' ')}" for line in wrapped]
        plain.clear()
        lines += [f"  {line}" for line in part[:-1]]
        lines += [f"  {line}," for line in part[-1:]]
    return [*lines[:-1], lines[-1].removesuffix(","), end]


_HELD = "\0"
"""A blank at which a line is not broken."""


def _lines_of(name: str, inner: Shape | None) -> list[str]:
    shown = name if name.startswith("**") else f'"{name}"'
    if inner is None:
        return [shown]
    if inner.name:
        return [f"{shown}: [{inner.name}]" if inner.many else f"{shown}: {inner.name}"]
    return _lines(inner, f"{shown}: ")


# What may not change


def fields_of(document: dict[str, Any]) -> dict[str, str]:
    """Every field of every command and of an error by its path (``orders list: orders[].money``,
    ``swap 2: quoteId`` of the second of several documents), with its type: ``number``, ``null or
    string``, words that it may be; ``?`` where it may be missing."""
    defs = document["$defs"]
    fields: dict[str, str] = {}
    whole = {**document["commands"], "error": document["error"]}
    for name, schema in whole.items():
        roots = schema.get("anyOf", [{"$ref": schema["$ref"]}] if "$ref" in schema else [])
        for place, root in enumerate(roots, 1):
            document = name if len(roots) == 1 else f"{name} {place}"
            _walk(f"{document}: ", root, defs, fields, ())
    return fields


def _walk(
    path: str, schema: Any, defs: dict[str, Any], fields: dict[str, str], within: tuple[str, ...]
) -> None:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in within:
            _walk(path, defs[name], defs, fields, (*within, name))
        return
    for inner in (*schema.get("anyOf", ()), *schema.get("allOf", ())):
        _walk(path, inner, defs, fields, within)
    for place, key in (("[]", "items"), ("{}", "additionalProperties")):
        if isinstance(schema.get(key), dict):
            _walk(f"{path}{place}.", schema[key], defs, fields, within)
    for member, inner in schema.get("properties", {}).items():
        missing = "" if member in schema.get("required", ()) else "?"
        at = f"{path}{member}".replace(".[]", "[]").replace(".{}", "{}")
        fields[at] = _type(inner, defs) + missing
        _walk(f"{at}.", inner, defs, fields, within)


def _type(schema: Any, defs: dict[str, Any]) -> str:
    """In the words of JSON Schema, the same for the same type."""
    if "$ref" in schema:
        return _type(defs[schema["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in schema:
        types = {_type(choice, defs) for choice in schema["anyOf"]}
        # Every integer is a number.
        return " or ".join(sorted(types - {"integer"} if "number" in types else types))
    if "enum" in schema:
        return "string" if all(isinstance(value, str) for value in schema["enum"]) else "any"
    if isinstance(schema.get("items"), dict):
        return f"array of {_type(schema['items'], defs)}"
    return str(schema.get("type", "any"))


def breaking(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What a reader of ``before`` would miss or read wrongly in ``now``: fields that are gone, that
    may be missing now, or that are of another type. Fields that were added are none of these, nor
    are those of a command that is gone: it ends with an error."""
    old, new = fields_of(before), fields_of(now)
    lines = []
    for path, was in old.items():
        is_now = new.get(path)
        if path.partition(":")[0] in REMOVED:
            continue
        if is_now is None:
            lines.append(f"{path} is gone")
        elif is_now != was and is_now != was.removesuffix("?"):
            lines.append(f"{path} was {was} and is {is_now}")
    return lines


def version_of(document: dict[str, Any]) -> int:
    version: int = document["error"]["properties"]["schemaVersion"]["const"]
    return version


def require_version(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raises ValueError for a change that needs a new ``SCHEMA_VERSION`` and has none."""
    lost = breaking(before, now)
    if lost and version_of(now) <= version_of(before):
        raise ValueError(f"raise SCHEMA_VERSION of cli/output.py: {'; '.join(lost)}")
