"""As much of CBOR (RFC 8949) as the addresses of Cardano's first era use, strictly.

Definite lengths, whole numbers, byte strings, arrays, maps and tags; nothing nests deeper
than those addresses do.
"""

from __future__ import annotations

MAX_DEPTH = 4

Item = int | bytes | list["Item"] | dict[int, "Item"] | tuple[int, "Item"]
"""A tagged item is a pair of tag and item."""


class CborError(ValueError):
    """The bytes are not such an item, or are followed by more."""


def decode(payload: bytes) -> Item:
    """The one item of the whole of ``payload``. Raises CborError."""
    item, rest = _item(payload, MAX_DEPTH)
    if rest:
        raise CborError("more bytes than one item")
    return item


def _head(payload: bytes) -> tuple[int, int, bytes]:
    """Major type, argument and what follows; the argument in its shortest spelling only."""
    if not payload:
        raise CborError("it ends early")
    major, short, rest = payload[0] >> 5, payload[0] & 31, payload[1:]
    if short < 24:
        return major, short, rest
    if short > 27:
        raise CborError("a length that is not definite")
    width = 1 << short - 24
    argument = int.from_bytes(rest[:width], "big")
    smallest = 24 if width == 1 else 1 << 4 * width
    if len(rest) < width or argument < smallest:
        raise CborError("a number that is cut or not shortest")
    return major, argument, rest[width:]


def _item(payload: bytes, depth: int) -> tuple[Item, bytes]:
    if depth == 0:
        raise CborError("too deep")
    major, argument, rest = _head(payload)
    if major == 0:
        return argument, rest
    if major == 2:
        if argument > len(rest):
            raise CborError("it ends early")
        return rest[:argument], rest[argument:]
    if major == 4:
        return _array(argument, rest, depth)
    if major == 5:
        return _map(argument, rest, depth)
    if major == 6:
        item, rest = _item(rest, depth - 1)
        return (argument, item), rest
    raise CborError("a type no address uses")


def _array(length: int, rest: bytes, depth: int) -> tuple[Item, bytes]:
    items: list[Item] = []
    for _ in range(min(length, len(rest) + 1)):
        item, rest = _item(rest, depth - 1)
        items.append(item)
    return items, rest


def _map(length: int, rest: bytes, depth: int) -> tuple[Item, bytes]:
    pairs: dict[int, Item] = {}
    for _ in range(min(length, len(rest) + 1)):
        key, rest = _item(rest, depth - 1)
        value, rest = _item(rest, depth - 1)
        if not isinstance(key, int) or key in pairs:
            raise CborError("a key no address uses")
        pairs[key] = value
    return pairs, rest


def encode_head(major: int, argument: int) -> bytes:
    """Type and argument in their shortest spelling."""
    if argument < 24:
        return bytes([major << 5 | argument])
    width = 1 if argument < 1 << 8 else 2 if argument < 1 << 16 else 4
    return bytes([major << 5 | 23 + width.bit_length()]) + argument.to_bytes(width, "big")
