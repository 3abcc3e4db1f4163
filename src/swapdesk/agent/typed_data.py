"""EIP-712 read strictly: a whole document, checked against its own types, and its digest.

A document that can be understood in two ways is refused, not signed. It may contain nothing that is
not signed, and nothing that is signed may be missing. Every declared struct is checked, even one
that the message does not use. Each value is accepted only in its one unambiguous spelling. JSON
numbers arrive as the exact text of their token (``wire.encoding.numbers.WireNumber``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from msgspec import Struct

from swapdesk.agent.shapes.claim import PayloadRefused
from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.wire.encoding.numbers import WireNumber


def unsound(code: str, words: str, path: str = "") -> PayloadRefused:
    """Returns the exception that refuses a document. ``path`` is the place of the defect, empty for
    the whole document."""
    return PayloadRefused(f"DOCUMENT_{code}", f"{path}: {words}" if path else words)


DOMAIN = "EIP712Domain"
DOMAIN_FIELDS = {
    "name": "string",
    "version": "string",
    "chainId": "uint256",
    "verifyingContract": "address",
    "salt": "bytes32",
}
"""The fields that a domain may have, in the order of the standard, with their types."""

MAX_STRUCTS = 64
MAX_FIELDS = 64
MAX_ARRAY = 1024
MAX_DIMENSIONS = 4

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,63}", re.ASCII)
_ELEMENTARY = re.compile(
    r"address|bool|string|bytes|bytes([1-9]|[12][0-9]|3[0-2])|u?int([1-9][0-9]{0,2})", re.ASCII
)
_ARRAY = re.compile(r"\[([1-9][0-9]{0,3})?\]", re.ASCII)
_LOOKS_ELEMENTARY = re.compile(r"(address|bool|string|bytes|byte|u?int|u?fixed)[0-9x]*", re.ASCII)


class FieldType(Struct, frozen=True):
    """An elementary or struct type, or an array of such a type. ``dimensions`` has the length of
    each array level, innermost first, None for any length; it is empty without an array."""

    name: str
    dimensions: tuple[int | None, ...] = ()

    @property
    def element(self) -> FieldType:
        return FieldType(self.name, self.dimensions[:-1])

    def __str__(self) -> str:
        return self.name + "".join("[]" if n is None else f"[{n}]" for n in self.dimensions)


Fields = dict[str, FieldType]
"""The types of the fields of a struct, by field name and in order."""


def is_elementary(name: str) -> bool:
    """True for an elementary EIP-712 type. The aliases ``uint`` and ``int`` do not count."""
    match = _ELEMENTARY.fullmatch(name)
    if match is None:
        return False
    bits = match.group(2)
    return bits is None or (int(bits) % 8 == 0 and int(bits) <= 256)


class Schema:
    """The checked structs of a document, by name. The domain's struct is missing if the document
    does not declare it."""

    def __init__(self, structs: dict[str, Fields]) -> None:
        self.structs = structs

    @classmethod
    def read(cls, types: object) -> Schema:
        """Returns the schema in ``types`` of a document. Raises PayloadRefused unless all structs
        are valid and none contains itself."""
        if not isinstance(types, Mapping) or not 0 < len(types) <= MAX_STRUCTS:
            raise unsound("TYPES", f"types must be 1 to {MAX_STRUCTS} structs", "types")
        structs = {name: _struct(name, fields) for name, fields in types.items()}
        schema = cls(structs)
        for name, fields in structs.items():
            for field, kind in fields.items():
                if not is_elementary(kind.name) and kind.name not in structs:
                    raise unsound(
                        "UNKNOWN_TYPE",
                        "the type of a field is not declared",
                        f"types.{name}.{field}",
                    )
        for name in structs:
            schema._refuse_recursion(name)
        domain = structs.get(DOMAIN)
        if domain is not None:
            _check_domain(domain)
        return schema

    def uses(self, name: str) -> Iterator[str]:
        """Yields the names of the structs that a struct needs: itself first, then the others in
        alphabetical order."""
        structs = {name}
        waiting = [name]
        while waiting:
            for kind in self.structs[waiting.pop()].values():
                if kind.name in self.structs and kind.name not in structs:
                    structs.add(kind.name)
                    waiting.append(kind.name)
        yield name
        yield from sorted(structs - {name})

    def encoded_type(self, name: str) -> str:
        """Returns the encoded type of a struct, like ``Mail(Person from,string contents)``
        (EIP-712: Definition of encodeType)."""
        return "".join(
            f"{use}({','.join(f'{kind} {field}' for field, kind in self.structs[use].items())})"
            for use in self.uses(name)
        )

    def _refuse_recursion(self, name: str) -> None:
        held = (kind.name for use in self.uses(name) for kind in self.structs[use].values())
        if name in held:
            raise unsound("RECURSIVE", "a struct contains itself", f"types.{name}")


def _struct(name: object, fields: object) -> Fields:
    if type(name) is not str or _IDENTIFIER.fullmatch(name) is None:
        raise unsound("TYPE_NAME", "the name of a struct is no identifier", "types")
    if _LOOKS_ELEMENTARY.fullmatch(name):
        raise unsound("TYPE_NAME", "a struct has the name of another type", f"types.{name}")
    if not isinstance(fields, list) or not 0 < len(fields) <= MAX_FIELDS:
        raise unsound("FIELDS", f"a struct must have 1 to {MAX_FIELDS} fields", f"types.{name}")
    read = dict(_field(name, field) for field in fields)
    if len(read) != len(fields):
        raise unsound("DUPLICATE_FIELD", "a field stands twice", f"types.{name}")
    return read


def _field(struct: str, raw: object) -> tuple[str, FieldType]:
    path = f"types.{struct}"
    if not isinstance(raw, Mapping) or set(raw) != {"name", "type"}:
        raise unsound("FIELD", "a field is a name and a type", path)
    name, kind = raw["name"], raw["type"]
    if type(name) is not str or _IDENTIFIER.fullmatch(name) is None:
        raise unsound("FIELD_NAME", "the name of a field is no identifier", path)
    if type(kind) is not str:
        raise unsound("FIELD_TYPE", "the type of a field is no text", f"{path}.{name}")
    return name, _field_type(kind, f"{path}.{name}")


def _field_type(text: str, path: str) -> FieldType:
    name, bracket, rest = text.partition("[")
    dimensions: list[int | None] = []
    rest = bracket + rest
    while rest:
        match = _ARRAY.match(rest)
        if match is None or len(dimensions) == MAX_DIMENSIONS:
            raise unsound("FIELD_TYPE", "the type of a field cannot be read", path)
        length = match.group(1)
        if length is not None and int(length) > MAX_ARRAY:
            raise unsound("ARRAY_LENGTH", f"an array is longer than {MAX_ARRAY}", path)
        dimensions.append(None if length is None else int(length))
        rest = rest[match.end() :]
    if is_elementary(name):
        return FieldType(name, tuple(dimensions))
    if _LOOKS_ELEMENTARY.fullmatch(name):
        raise unsound("ALIAS", "a type without its size, or of no such size", path)
    if _IDENTIFIER.fullmatch(name) is None:
        raise unsound("FIELD_TYPE", "the type of a field cannot be read", path)
    return FieldType(name, tuple(dimensions))


def _check_domain(domain: Fields) -> None:
    for field, kind in domain.items():
        if DOMAIN_FIELDS.get(field) != str(kind):
            raise unsound(
                "DOMAIN_FIELD",
                "the domain has a field that the standard does not know, or of another type",
                f"types.{DOMAIN}.{field}",
            )


_DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,77}", re.ASCII)
_HEX_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,64}", re.ASCII)
_HEX = re.compile(r"0x([0-9a-fA-F]{2})*", re.ASCII)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)

Value = int | bool | str | bytes
"""An elementary value as it is signed. An address is text with its checksum."""


def read_value(kind: str, raw: object, path: str) -> Value:
    """Converts a JSON value to the elementary type ``kind``. ``path`` is the place of the value,
    for error messages. Raises PayloadRefused if the value does not have that type."""
    if kind == "bool":
        if raw is not True and raw is not False:
            raise unsound("BOOL", "a bool must be true or false", path)
        return raw
    if kind == "string":
        if type(raw) is not str:
            raise unsound("STRING", "a text is needed", path)
        return raw
    if kind == "address":
        return _address(raw, path)
    if kind.startswith("bytes"):
        return _bytes(raw, kind.removeprefix("bytes"), path)
    signed = kind.startswith("int")
    return _integer(raw, int(kind.removeprefix("u").removeprefix("int")), signed, path)


def _address(raw: object, path: str) -> str:
    if type(raw) is not str or _ADDRESS.fullmatch(raw) is None:
        raise unsound("ADDRESS", "an address is 0x and 40 hexadecimal digits", path)
    spelled = checksummed(raw)
    digits = raw[2:]
    if raw != spelled and digits != digits.lower() and digits != digits.upper():
        raise unsound("CHECKSUM", "the checksum of an address is wrong", path)
    return spelled


def _bytes(raw: object, size: str, path: str) -> bytes:
    if type(raw) is not str or _HEX.fullmatch(raw) is None:
        raise unsound("BYTES", "bytes are 0x and pairs of hexadecimal digits", path)
    data = bytes.fromhex(raw[2:])
    if size and len(data) != int(size):
        raise unsound("BYTES_LENGTH", f"exactly {size} bytes are needed", path)
    return data


def _integer(raw: object, bits: int, signed: bool, path: str) -> int:
    if type(raw) is int:
        number = raw
    elif type(raw) in (str, WireNumber) and _DECIMAL.fullmatch(str(raw)):
        number = int(str(raw))
    elif type(raw) is str and _HEX_NUMBER.fullmatch(raw):
        number = int(raw, 16)
    else:
        raise unsound("INTEGER", "a whole number is needed", path)
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)
    if not low <= number < high:
        raise unsound("RANGE", "a number is outside its type", path)
    return number


def encoded(kind: str, value: Value) -> bytes:
    """Returns the 32 bytes that encode a value of a fixed-size type (EIP-712: encodeData). Raises
    ValueError for any other type."""
    if isinstance(value, bool):
        return int(value).to_bytes(32, "big")
    if isinstance(value, int):
        return value.to_bytes(32, "big", signed=value < 0)
    if isinstance(value, bytes):
        return value.ljust(32, b"\0")
    if kind != "address":
        raise ValueError(f"{kind} has no fixed size")
    return int(value, 16).to_bytes(32, "big")


MAX_VALUES = 4096
"""The most elementary values in a document."""

Node = Value | dict[str, "Node"] | list["Node"]
"""A value of a document as it is signed: an elementary value, the fields of a struct, or the items
of an array."""


class Leaf(Struct, frozen=True):
    """One elementary value of a document with its path and type."""

    path: str
    type: str
    value: Value


class Document(Struct, frozen=True, dict=True):
    """A document that can be signed. ``domain`` and ``message`` have its values in the form in
    which they are signed."""

    schema: Schema
    primary_type: str
    domain: dict[str, Value]
    message: dict[str, Node]

    @cached_property
    def digest(self) -> bytes:
        """The 32 bytes that are signed for the document (EIP-712: Specification)."""
        return keccak(
            b"\x19\x01" + self.domain_separator + self._hash_struct(self.primary_type, self.message)
        )

    @cached_property
    def domain_separator(self) -> bytes:
        """The hash of the domain, which contracts return from ``DOMAIN_SEPARATOR()``."""
        return self._hash_struct(DOMAIN, dict(self.domain))

    @property
    def declaration(self) -> str:
        """The encoded type of the message. Known forms of document are recognized by it."""
        return self.schema.encoded_type(self.primary_type)

    def leaves(self) -> Iterator[Leaf]:
        """Yields every signed elementary value: those of the domain, then those of the message."""
        for name, value in self.domain.items():
            yield Leaf(f"domain.{name}", DOMAIN_FIELDS[name], value)
        yield from self._leaves(FieldType(self.primary_type), self.message, "message")

    def _leaves(self, kind: FieldType, node: Node, path: str) -> Iterator[Leaf]:
        if isinstance(node, list):
            for i, item in enumerate(node):
                yield from self._leaves(kind.element, item, f"{path}[{i}]")
        elif isinstance(node, dict):
            for name, inner in self.schema.structs[kind.name].items():
                yield from self._leaves(inner, node[name], f"{path}.{name}")
        else:
            yield Leaf(path, str(kind), node)

    def _hash_struct(self, name: str, values: Mapping[str, Node]) -> bytes:
        data = [keccak(self.schema.encoded_type(name).encode())]
        data += [
            self._encode(kind, values[field]) for field, kind in self.schema.structs[name].items()
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
    """Returns the document in the parsed JSON ``raw``. Raises PayloadRefused, which names the first
    defect."""
    if not isinstance(raw, Mapping) or set(raw) != {"types", "primaryType", "domain", "message"}:
        raise unsound(
            "TOP_LEVEL", "a document is types, primaryType, domain and message, nothing else"
        )
    schema = _with_domain(Schema.read(raw["types"]), raw["domain"])
    primary = raw["primaryType"]
    if type(primary) is not str or primary not in schema.structs or primary == DOMAIN:
        raise unsound("PRIMARY_TYPE", "the type of the message is not declared")
    reader = _Reader(schema)
    domain = reader.struct(schema.structs[DOMAIN], raw["domain"], "domain")
    message = reader.struct(schema.structs[primary], raw["message"], "message")
    flat = {name: value for name, value in domain.items() if not isinstance(value, (dict, list))}
    return Document(schema, primary, flat, message)


def _with_domain(schema: Schema, domain: object) -> Schema:
    if DOMAIN in schema.structs:
        return schema
    if not isinstance(domain, Mapping) or not domain or not set(domain) <= set(DOMAIN_FIELDS):
        raise unsound("DOMAIN", "the domain has no field that the standard knows", "domain")
    fields = {name: FieldType(kind) for name, kind in DOMAIN_FIELDS.items() if name in domain}
    return Schema({**schema.structs, DOMAIN: fields})


class _Reader:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._left = MAX_VALUES

    def struct(self, fields: Fields, raw: object, path: str) -> dict[str, Node]:
        if not isinstance(raw, Mapping):
            raise unsound("STRUCT", "the fields of a struct are needed", path)
        if set(raw) - set(fields):
            raise unsound("EXTRA_FIELD", "a field stands there that is not signed", path)
        missing = [name for name in fields if raw.get(name) is None]
        if missing:
            raise unsound(
                "MISSING_FIELD", "a field that is signed is missing", f"{path}.{missing[0]}"
            )
        return {
            name: self._node(kind, raw[name], f"{path}.{name}") for name, kind in fields.items()
        }

    def _node(self, kind: FieldType, raw: object, path: str) -> Node:
        if kind.dimensions:
            return self._array(kind, raw, path)
        inner = self._schema.structs.get(kind.name)
        if inner is not None:
            return self.struct(inner, raw, path)
        self._left -= 1
        if self._left < 0:
            raise unsound("TOO_LARGE", f"more than {MAX_VALUES} values", path)
        return read_value(kind.name, raw, path)

    def _array(self, kind: FieldType, raw: object, path: str) -> list[Node]:
        length = kind.dimensions[-1]
        if not isinstance(raw, list):
            raise unsound("ARRAY", "a list is needed", path)
        if len(raw) > MAX_ARRAY or (length is not None and len(raw) != length):
            raise unsound("ARRAY_LENGTH", "a list of another length is needed", path)
        return [self._node(kind.element, item, f"{path}[{i}]") for i, item in enumerate(raw)]
