"""JSON Schemas of what commands print with ``--json``, made from the types of the documents.

A document is a ``msgspec.Struct`` that ``Output.document`` prints. A record of another package
within it has the members named in its ``PRINTED``; models of the API have schemas of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Struct, UnsetType

from swapdesk.cli.cli_context import declared_of, named
from swapdesk.cli.main import commands
from swapdesk.cli.output import SCHEMA_VERSION, written_members
from swapdesk.flows.notation import Moment

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{name}"


class SchemaDocument(Struct, frozen=True):
    """The JSON Schema (2020-12) of one command's documents, or the schemas of all commands by
    name."""

    MERGED: ClassVar = "schema"

    schema: Mapping[str, Any]


ERROR = "command_error:ErrorDocument"
"""The type of the document that every command prints on standard error if it fails."""


@cache
def document_types() -> dict[str, tuple[str, ...]]:
    """Returns the document types that each command prints, as ``module:Name``."""
    declared = {name: declared_of(command).prints for name, command in commands().items()}
    return {name: prints for name, prints in declared.items() if prints}


def schema_of(command: str) -> dict[str, Any]:
    """Returns the schema of everything that a command prints as JSON. Raises KeyError if the
    command prints no document."""
    return _schema(f"swapdesk {command} --json", document_types()[command])


def error_schema() -> dict[str, Any]:
    return _schema("swapdesk: an error with --json", (ERROR,))


def all_schemas() -> dict[str, Any]:
    """Returns one object with all schemas: of each command (``commands``), of the error document
    (``error``), and shared definitions (``$defs``)."""
    commands = {name: schema_of(name) for name in document_types()}
    error = error_schema()
    defs: dict[str, Any] = {}
    for schema in (*commands.values(), error):
        del schema["$schema"]
        for name, inner in schema.pop("$defs").items():
            assert defs.setdefault(name, inner) == inner, f"there are two of {name}"
    return {
        "$schema": DIALECT,
        "commands": commands,
        "error": error,
        "$defs": dict(sorted(defs.items())),
    }


def _schema(title: str, places: tuple[str, ...]) -> dict[str, Any]:
    types = tuple(map(named, places))
    roots, defs = _definitions(types)
    return {
        "$schema": DIALECT,
        "title": title,
        "type": "object",
        "properties": {"schemaVersion": {"const": SCHEMA_VERSION}},
        "required": ["schemaVersion"],
        **(roots[0] if len(roots) == 1 else {"anyOf": list(roots)}),
        "$defs": dict(sorted(defs.items())),
    }


def _definitions(types: tuple[type[Struct], ...]) -> tuple[tuple[dict[str, Any], ...], Any]:
    written: dict[type, type] = {}
    models: list[Any] = []

    def model(kind: type) -> dict[str, Any]:
        if not hasattr(kind, "model_json_schema"):
            raise NotImplementedError
        models.append(kind)
        return {"$ref": _REF.format(name=kind.__name__)}

    roots, defs = msgspec.json.schema_components(
        [_as_written(kind, written) for kind in types], schema_hook=model, ref_template=_REF
    )
    for kind in written:
        if merged := getattr(kind, "MERGED", ""):
            _merge(defs[kind.__name__], kind, merged)
    schemas = {name: _exact(schema) for name, schema in defs.items()}
    for name, schema in _model_schemas(models).items():
        assert name not in schemas, f"{name} is a document and a model of the API"
        schemas[name] = _exact(schema, words_keyword="examples")
    return roots, schemas


def _model_schemas(models: Sequence[Any]) -> Mapping[str, Any]:
    if not models:
        return {}
    from pydantic.json_schema import models_json_schema

    from swapdesk.wire.encoding.json_schema import WireJsonSchema

    _, top = models_json_schema(
        [(model, "validation") for model in sorted(set(models), key=lambda kind: kind.__name__)],
        by_alias=True,
        ref_template=_REF.format(name="{model}"),
        schema_generator=WireJsonSchema,
    )
    schemas: Mapping[str, Any] = top["$defs"]
    return schemas


def structs_in(kind: type) -> set[type]:
    """Returns the type itself and every record type that occurs in it."""
    written: dict[type, type] = {}
    _as_written(kind, written)
    return set(written)


def _as_written(hint: Any, written: dict[type, type]) -> Any:
    """Returns the type ``hint`` with each record type replaced by a struct of its printed members.
    ``written`` collects the replacements."""
    if isinstance(hint, type) and (issubclass(hint, Struct) or hasattr(hint, "PRINTED")):
        if hint not in written:
            types = member_types(hint)
            optional = _defaults(hint, types)
            fields = [
                (member, _as_written(inner, written), *optional.get(member, ()))
                for member, inner in types.items()
            ]
            about = {"__doc__": hint.__doc__}
            written[hint] = msgspec.defstruct(hint.__name__, fields, namespace=about, kw_only=True)
        return written[hint]
    inner = tuple(_as_written(argument, written) for argument in get_args(hint))
    if inner == get_args(hint):
        return hint
    origin = get_origin(hint)
    return reduce(or_, inner) if origin in (Union, UnionType) else origin[inner]


def _defaults(kind: type, types: Mapping[str, Any]) -> dict[str, tuple[Any]]:
    if hasattr(kind, "PRINTED"):
        return {name: (UNSET,) for name, hint in types.items() if UnsetType in get_args(hint)}
    return {
        field.encode_name: (field.default,)
        for field in msgspec.structs.fields(kind)
        if field.default is not msgspec.NODEFAULT
    }


def member_types(kind: type) -> dict[str, Any]:
    """Returns the printed members of a record type, each with its type."""
    types = {}
    for written, path in written_members(kind).items():
        hint: Any = kind
        for name in path.split("."):
            hint = get_args(hint)[0] if get_origin(hint) is Annotated else hint
            shown = getattr(hint, name, None)
            if isinstance(shown, property):
                hint = get_type_hints(shown.fget, include_extras=True)["return"]
            else:
                hint = get_type_hints(hint, include_extras=True)[name]
                # What is the same of every record stands in its class.
                hint = get_args(hint)[0] if get_origin(hint) is ClassVar else hint
        # A time is written with its zone, also where the record does not ask for one.
        types[written] = next((moment for time, moment in _MOMENTS if hint == time), hint)
    return types


_MOMENTS = ((datetime, Moment), (datetime | None, Moment | None))


def _merge(schema: dict[str, Any], kind: type[Struct], merged: str) -> None:
    written = next(member for member, name in written_members(kind).items() if name == merged)
    inner = schema["properties"].pop(written)
    schema["required"].remove(written)
    if "$ref" in inner:
        schema["allOf"] = [inner]


_NOT_SAID = ("title", "default")
"""Keywords that schemas omit. A ``default`` would read like the value of a missing member."""


def _exact(schema: Any, words_keyword: str = "enum") -> Any:
    """Returns the schema adapted to printed documents: numbers are exact and further members
    allowed. ``words_keyword`` replaces the keyword ``enum``."""
    if isinstance(schema, list):
        return [_exact(part, words_keyword) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    if schema.get("format") == "decimal":
        return {"type": "number"}
    exact: dict[str, Any] = {}
    for name, value in schema.items():
        if name in _NOT_SAID or value is False:
            continue
        if name == "properties":
            exact[name] = {member: _exact(inner, words_keyword) for member, inner in value.items()}
        elif name == "enum":
            exact[words_keyword] = value
        elif name == "description":
            description = " ".join(value.split("\n\n")[0].split())
            exact[name] = description.replace("``", "`").replace("None", "null")
        else:
            exact[name] = _exact(value, words_keyword)
    return exact
