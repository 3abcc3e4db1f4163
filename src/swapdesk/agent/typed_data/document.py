"""A whole EIP-712 document: checked against its own types, and its digest.

Nothing may stand in it that is not signed, and nothing that is signed may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from swapdesk.agent.typed_data.refusal import TypedDataRefused
from swapdesk.agent.typed_data.schema import (
    DOMAIN,
    DOMAIN_FIELDS,
    MAX_ARRAY,
    Field,
    FieldType,
    Schema,
    Struct,
)
from swapdesk.agent.typed_data.values import Value, encoded, read_value
from swapdesk.chain.addresses.evm import keccak

MAX_VALUES = 4096
"""Largest number of elementary values in a document."""

Node = Value | dict[str, "Node"] | list["Node"]
"""A value as it is signed, or the fields of a struct, or the items of an array."""


@dataclass(frozen=True)
class Leaf:
    """One elementary value with its place and type, for a screen that shows everything."""

    path: str
    type: str
    value: Value


@dataclass(frozen=True)
class Document:
    """A document that can be signed. ``domain`` and ``message`` hold normal values."""

    schema: Schema
    primary_type: str
    domain: dict[str, Value]
    message: dict[str, Node]

    @cached_property
    def digest(self) -> bytes:
        """The 32 bytes that are signed (EIP-712: Specification)."""
        return keccak(
            b"\x19\x01" + self.domain_separator + self._hash_struct(self.primary_type, self.message)
        )

    @cached_property
    def domain_separator(self) -> bytes:
        """The hash of the domain, which contracts answer to ``DOMAIN_SEPARATOR()``."""
        return self._hash_struct(DOMAIN, dict(self.domain))

    @property
    def declaration(self) -> str:
        """The encoded type of the message, which names the shape of what is signed."""
        return self.schema.encoded_type(self.primary_type)

    def leaves(self) -> Iterator[Leaf]:
        """Every value that is signed, the domain's first, in the order of their types."""
        for name, value in self.domain.items():
            yield Leaf(f"domain.{name}", DOMAIN_FIELDS[name], value)
        yield from self._leaves(FieldType(self.primary_type), self.message, "message")

    def _leaves(self, kind: FieldType, node: Node, path: str) -> Iterator[Leaf]:
        if isinstance(node, list):
            for i, item in enumerate(node):
                yield from self._leaves(kind.element, item, f"{path}[{i}]")
        elif isinstance(node, dict):
            for field in self.schema.structs[kind.name].fields:
                yield from self._leaves(field.type, node[field.name], f"{path}.{field.name}")
        else:
            yield Leaf(path, str(kind), node)

    def _hash_struct(self, name: str, values: Mapping[str, Node]) -> bytes:
        data = [keccak(self.schema.encoded_type(name).encode())]
        data += [
            self._encode(field.type, values[field.name])
            for field in self.schema.structs[name].fields
        ]
        return keccak(b"".join(data))

    def _encode(self, kind: FieldType, node: Node) -> bytes:
        if isinstance(node, list):
            return keccak(b"".join(self._encode(kind.element, item) for item in node))
        if isinstance(node, dict):
            return self._hash_struct(kind.name, node)
        if kind.name == "string":
            return keccak(str(node).encode())
        if kind.name == "bytes" and isinstance(node, bytes):
            return keccak(node)
        return encoded(kind.name, node)


def read_document(raw: object) -> Document:
    """The document, or TypedDataRefused naming the first thing that is wrong with it."""
    if not isinstance(raw, Mapping) or set(raw) != {"types", "primaryType", "domain", "message"}:
        raise TypedDataRefused(
            "TOP_LEVEL", "a document is types, primaryType, domain and message, nothing else"
        )
    schema = _with_domain(Schema.read(raw["types"]), raw["domain"])
    primary = raw["primaryType"]
    if type(primary) is not str or primary not in schema.structs or primary == DOMAIN:
        raise TypedDataRefused("PRIMARY_TYPE", "the type of the message is not declared")
    reader = _Reader(schema)
    domain = reader.struct(schema.structs[DOMAIN], raw["domain"], "domain")
    message = reader.struct(schema.structs[primary], raw["message"], "message")
    flat = {name: value for name, value in domain.items() if not isinstance(value, (dict, list))}
    return Document(schema, primary, flat, message)


def _with_domain(schema: Schema, domain: object) -> Schema:
    """The schema with the domain's type; one that is not declared follows from the values."""
    if DOMAIN in schema.structs:
        return schema
    if not isinstance(domain, Mapping) or not domain or not set(domain) <= set(DOMAIN_FIELDS):
        raise TypedDataRefused(
            "DOMAIN", "the domain has no field that the standard knows", "domain"
        )
    fields = tuple(
        Field(name, FieldType(kind)) for name, kind in DOMAIN_FIELDS.items() if name in domain
    )
    return Schema({**schema.structs, DOMAIN: Struct(DOMAIN, fields)})


class _Reader:
    """Reads values by their types, and counts them."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._left = MAX_VALUES

    def struct(self, struct: Struct, raw: object, path: str) -> dict[str, Node]:
        if not isinstance(raw, Mapping):
            raise TypedDataRefused("STRUCT", "the fields of a struct are needed", path)
        names = {field.name for field in struct.fields}
        if set(raw) - names:
            raise TypedDataRefused("EXTRA_FIELD", "a field stands there that is not signed", path)
        missing = [field.name for field in struct.fields if raw.get(field.name) is None]
        if missing:
            raise TypedDataRefused(
                "MISSING_FIELD", "a field that is signed is missing", f"{path}.{missing[0]}"
            )
        return {
            field.name: self._node(field.type, raw[field.name], f"{path}.{field.name}")
            for field in struct.fields
        }

    def _node(self, kind: FieldType, raw: object, path: str) -> Node:
        if kind.dimensions:
            return self._array(kind, raw, path)
        inner = self._schema.structs.get(kind.name)
        if inner is not None:
            return self.struct(inner, raw, path)
        self._left -= 1
        if self._left < 0:
            raise TypedDataRefused("TOO_LARGE", f"more than {MAX_VALUES} values", path)
        return read_value(kind.name, raw, path)

    def _array(self, kind: FieldType, raw: object, path: str) -> list[Node]:
        length = kind.dimensions[-1]
        if not isinstance(raw, list):
            raise TypedDataRefused("ARRAY", "a list is needed", path)
        if len(raw) > MAX_ARRAY or (length is not None and len(raw) != length):
            raise TypedDataRefused("ARRAY_LENGTH", "a list of another length is needed", path)
        return [self._node(kind.element, item, f"{path}[{i}]") for i, item in enumerate(raw)]
