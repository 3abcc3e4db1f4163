"""The types of an EIP-712 document (EIP-712: Definition of typed structured data).

Every struct that is declared is checked, also one that the message does not use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from swapdesk.agent.typed_data.refusal import TypedDataRefused

DOMAIN = "EIP712Domain"
DOMAIN_FIELDS = {
    "name": "string",
    "version": "string",
    "chainId": "uint256",
    "verifyingContract": "address",
    "salt": "bytes32",
}
"""The fields a domain may have, in the order of the standard."""

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


@dataclass(frozen=True)
class FieldType:
    """``name`` is an elementary type or a struct; ``dimensions`` its arrays from the inside
    out, each a length or None for any."""

    name: str
    dimensions: tuple[int | None, ...] = ()

    @property
    def element(self) -> FieldType:
        """What an array of this type holds."""
        return FieldType(self.name, self.dimensions[:-1])

    def __str__(self) -> str:
        return self.name + "".join("[]" if n is None else f"[{n}]" for n in self.dimensions)


@dataclass(frozen=True)
class Field:
    name: str
    type: FieldType


@dataclass(frozen=True)
class Struct:
    name: str
    fields: tuple[Field, ...]

    @property
    def declaration(self) -> str:
        """As it stands in an encoded type: ``Mail(Person from,string contents)``."""
        return f"{self.name}({','.join(f'{one.type} {one.name}' for one in self.fields)})"


def is_elementary(name: str) -> bool:
    """Whether this is a type of EIP-712 itself. ``uint`` and ``int`` are none: they are aliases."""
    match = _ELEMENTARY.fullmatch(name)
    if match is None:
        return False
    bits = match.group(2)
    return bits is None or (int(bits) % 8 == 0 and int(bits) <= 256)


class Schema:
    """The structs of a document by name, checked, without the domain's if it declares none."""

    def __init__(self, structs: dict[str, Struct]) -> None:
        self.structs = structs

    @classmethod
    def read(cls, types: object) -> Schema:
        """Raises TypedDataRefused for anything but a map of sound, finite structs."""
        if not isinstance(types, Mapping) or not 0 < len(types) <= MAX_STRUCTS:
            raise TypedDataRefused("TYPES", f"types must be 1 to {MAX_STRUCTS} structs", "types")
        structs = {name: _struct(name, fields) for name, fields in types.items()}
        schema = cls(structs)
        for struct in structs.values():
            for field in struct.fields:
                inner = field.type.name
                if not is_elementary(inner) and inner not in structs:
                    raise TypedDataRefused(
                        "UNKNOWN_TYPE",
                        "the type of a field is not declared",
                        f"types.{struct.name}.{field.name}",
                    )
        for name in structs:
            schema._refuse_recursion(name)
        domain = structs.get(DOMAIN)
        if domain is not None:
            _check_domain(domain)
        return schema

    def uses(self, name: str) -> Iterator[str]:
        """Structs that this struct needs, itself first, then the others by name."""
        found = {name}
        waiting = [name]
        while waiting:
            for field in self.structs[waiting.pop()].fields:
                inner = field.type.name
                if inner in self.structs and inner not in found:
                    found.add(inner)
                    waiting.append(inner)
        yield name
        yield from sorted(found - {name})

    def encoded_type(self, name: str) -> str:
        """EIP-712: Definition of encodeType."""
        return "".join(self.structs[one].declaration for one in self.uses(name))

    def _refuse_recursion(self, name: str) -> None:
        done: set[str] = set()

        def walk(one: str, above: frozenset[str]) -> None:
            if one in above:
                raise TypedDataRefused("RECURSIVE", "a struct contains itself", f"types.{name}")
            if one in done:
                return
            for field in self.structs[one].fields:
                if field.type.name in self.structs:
                    walk(field.type.name, above | {one})
            done.add(one)

        walk(name, frozenset())


def _struct(name: object, fields: object) -> Struct:
    if type(name) is not str or _IDENTIFIER.fullmatch(name) is None:
        raise TypedDataRefused("TYPE_NAME", "the name of a struct is no identifier", "types")
    if _LOOKS_ELEMENTARY.fullmatch(name):
        raise TypedDataRefused(
            "TYPE_NAME", "a struct has the name of another type", f"types.{name}"
        )
    if not isinstance(fields, list) or not 0 < len(fields) <= MAX_FIELDS:
        raise TypedDataRefused(
            "FIELDS", f"a struct must have 1 to {MAX_FIELDS} fields", f"types.{name}"
        )
    read = tuple(_field(name, one) for one in fields)
    if len({one.name for one in read}) != len(read):
        raise TypedDataRefused("DUPLICATE_FIELD", "a field stands twice", f"types.{name}")
    return Struct(name, read)


def _field(struct: str, raw: object) -> Field:
    path = f"types.{struct}"
    if not isinstance(raw, Mapping) or set(raw) != {"name", "type"}:
        raise TypedDataRefused("FIELD", "a field is a name and a type", path)
    name, kind = raw["name"], raw["type"]
    if type(name) is not str or _IDENTIFIER.fullmatch(name) is None:
        raise TypedDataRefused("FIELD_NAME", "the name of a field is no identifier", path)
    if type(kind) is not str:
        raise TypedDataRefused("FIELD_TYPE", "the type of a field is no text", f"{path}.{name}")
    return Field(name, _field_type(kind, f"{path}.{name}"))


def _field_type(text: str, path: str) -> FieldType:
    name, bracket, rest = text.partition("[")
    dimensions: list[int | None] = []
    rest = bracket + rest
    while rest:
        match = _ARRAY.match(rest)
        if match is None or len(dimensions) == MAX_DIMENSIONS:
            raise TypedDataRefused("FIELD_TYPE", "the type of a field cannot be read", path)
        length = match.group(1)
        if length is not None and int(length) > MAX_ARRAY:
            raise TypedDataRefused("ARRAY_LENGTH", f"an array is longer than {MAX_ARRAY}", path)
        dimensions.append(None if length is None else int(length))
        rest = rest[match.end() :]
    if is_elementary(name):
        return FieldType(name, tuple(dimensions))
    if _LOOKS_ELEMENTARY.fullmatch(name):
        raise TypedDataRefused("ALIAS", "a type without its size, or of no such size", path)
    if _IDENTIFIER.fullmatch(name) is None:
        raise TypedDataRefused("FIELD_TYPE", "the type of a field cannot be read", path)
    return FieldType(name, tuple(dimensions))


def _check_domain(domain: Struct) -> None:
    for field in domain.fields:
        if DOMAIN_FIELDS.get(field.name) != str(field.type):
            raise TypedDataRefused(
                "DOMAIN_FIELD",
                "the domain has a field that the standard does not know, or of another type",
                f"types.{DOMAIN}.{field.name}",
            )
