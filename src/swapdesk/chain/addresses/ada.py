"""Cardano addresses: the Shelley form in bech32 and the Byron form in base58, which contains CBOR
(CIP-19, RFC 8949)."""

from __future__ import annotations

import binascii

from swapdesk.chain.addresses import base58, bech32
from swapdesk.chain.addresses.kind import (
    AddressKind,
    AddressProblem,
    LinkForm,
    ParsedAddress,
    UnpaidForm,
    expand,
    refuse_burned,
    require_alphabet,
    wrong_checksum,
    wrong_length,
    wrong_start,
)

PREFIX, STAKE_PREFIX = "addr", "stake"
TEST_PREFIXES = frozenset({"addr_test", "stake_test"})
MAINNET = 1
ENTERPRISE_KEY = 6

_HASH = 28
_BYRON_STARTS = ("Ae2", "DdzFF")
"""First characters of Byron addresses from Icarus and Daedalus wallets; those from older wallets
differ."""
_BYRON_HEAD = b"\x82\xd8\x18"
"""The first bytes of every Byron address: a CBOR pair that begins with wrapped CBOR."""
_BYRON_LONGEST = 160
_NETWORK_MAGIC = 2


def encode(kind: int, hashes: bytes, network: int = MAINNET) -> str:
    """Returns a Shelley address. ``kind`` is the address type in the header byte; ``hashes`` are
    the bytes after it."""
    payload = bytes([kind << 4 | network]) + hashes
    values = bech32.regroup(payload, 8, 5, pad=True)
    return bech32.encode(PREFIX, values, bech32.BECH32)


def read(text: str) -> ParsedAddress:
    """Returns the checked address; a Shelley address is in lower case. Raises AddressProblem, also
    for other networks."""
    lowered = text[:6].lower()
    if lowered.startswith(f"{PREFIX}1"):
        return ParsedAddress(_read_shelley(text))
    if lowered.startswith(f"{STAKE_PREFIX}1"):
        raise AddressProblem(
            "prefix",
            "This is a stake address: it receives rewards, not payments. "
            "Give the address that starts with addr1.",
            1,
            whole=True,
        )
    if text.startswith(_BYRON_STARTS) or _is_byron(text):
        return ParsedAddress(_read_byron(text), noun="address of the Byron era")
    raise wrong_start("addr1")


def _read_shelley(text: str) -> str:
    lowered = bech32.require(text, len(PREFIX) + 1)
    if not 5 + 6 < len(lowered) <= bech32.LONG:
        raise wrong_length(len(text), "58 or 103")
    payload, is_bech32 = bech32.read_bytes(lowered, PREFIX, bech32.LONG)
    if not is_bech32:
        raise wrong_checksum()
    kind, network = payload[0] >> 4, payload[0] & 15
    if network != MAINNET or kind > 7:
        raise AddressProblem("prefix", "its header is not of a payment on the main network", 6)
    _require_hashes(kind, payload[1:], len(text))
    refuse_burned(payload[1 : 1 + _HASH])
    return lowered


def _require_hashes(kind: int, hashes: bytes, length: int) -> None:
    if kind in (4, 5):
        if not _is_pointer(hashes[_HASH:]):
            raise AddressProblem("length", "its pointer to a stake key is broken")
        return
    if len(hashes) != (2 * _HASH if kind < 4 else _HASH):
        raise wrong_length(length, "103" if kind < 4 else "58")


def _is_pointer(tail: bytes) -> bool:
    ends = [place for place, byte in enumerate(tail) if byte < 0x80]
    return len(ends) == 3 and ends[-1] == len(tail) - 1


def _is_byron(text: str) -> bool:
    if len(text) > _BYRON_LONGEST:
        return False
    try:
        return base58.decode(text).startswith(_BYRON_HEAD)
    except base58.Base58Error:
        return False


def _read_byron(text: str) -> str:
    require_alphabet(text, base58.BITCOIN_ALPHABET, "base58")
    if len(text) > _BYRON_LONGEST:
        raise wrong_length(len(text), f"at most {_BYRON_LONGEST}")
    try:
        outer = decode_cbor(base58.decode(text))
    except (base58.Base58Error, CborError):
        raise wrong_checksum() from None
    match outer:
        case [(24, bytes() as payload), int() as crc] if binascii.crc32(payload) == crc:
            pass
        case _:
            raise wrong_checksum()
    try:
        inner = decode_cbor(payload)
    except CborError:
        raise AddressProblem("length", "its data is not that of an address") from None
    match inner:
        case [bytes() as root, dict() as attributes, int()] if len(root) == _HASH:
            if _NETWORK_MAGIC in attributes:
                raise AddressProblem("prefix", "it is of a test network", 1)
            refuse_burned(root)
        case _:
            raise AddressProblem("length", "its data is not that of an address")
    return text


# CBOR

_CBOR_DEPTH = 4

CborItem = int | bytes | list["CborItem"] | dict[int, "CborItem"] | tuple[int, "CborItem"]
"""A decoded CBOR item. A tagged item is a tuple of its tag and its content."""


class CborError(ValueError):
    """Raised for bytes that are not exactly one item of the supported CBOR."""


def decode_cbor(payload: bytes) -> CborItem:
    """Returns the only CBOR item in ``payload``. Raises CborError."""
    item, rest = _cbor_item(payload, _CBOR_DEPTH)
    if rest:
        raise CborError("more bytes than one item")
    return item


def _cbor_head(payload: bytes) -> tuple[int, int, bytes]:
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


def _cbor_item(payload: bytes, depth: int) -> tuple[CborItem, bytes]:
    if depth == 0:
        raise CborError("too deep")
    major, argument, rest = _cbor_head(payload)
    if major == 0:
        return argument, rest
    if major == 2:
        if argument > len(rest):
            raise CborError("it ends early")
        return rest[:argument], rest[argument:]
    if major == 4:
        return _cbor_array(argument, rest, depth)
    if major == 5:
        return _cbor_map(argument, rest, depth)
    if major == 6:
        item, rest = _cbor_item(rest, depth - 1)
        return (argument, item), rest
    raise CborError("a type no address uses")


def _cbor_array(length: int, rest: bytes, depth: int) -> tuple[CborItem, bytes]:
    items: list[CborItem] = []
    for _ in range(min(length, len(rest) + 1)):
        item, rest = _cbor_item(rest, depth - 1)
        items.append(item)
    return items, rest


def _cbor_map(length: int, rest: bytes, depth: int) -> tuple[CborItem, bytes]:
    pairs: dict[int, CborItem] = {}
    for _ in range(min(length, len(rest) + 1)):
        key, rest = _cbor_item(rest, depth - 1)
        value, rest = _cbor_item(rest, depth - 1)
        if not isinstance(key, int) or key in pairs:
            raise CborError("a key no address uses")
        pairs[key] = value
    return pairs, rest


CARDANO = AddressKind(
    name="ada",
    chain="Cardano",
    called="a Cardano address",
    needs="one that starts with addr1",
    shape=(rf"^(addr1[{bech32.CLASS}]{{53,98}}|[{base58.CLASS}]{{50,{_BYRON_LONGEST}}})$"),
    read=read,
    unpaid=(
        UnpaidForm("a Cardano stake address", bech32.has_prefix(STAKE_PREFIX), when_asked=False),
        UnpaidForm("a Cardano test network address", bech32.has_prefix(*TEST_PREFIXES)),
    ),
    marks=("addr1",),
    links=dict.fromkeys(("cardano", "web+cardano"), LinkForm()),
    namespace="cip34",
    explorers=("cardanoscan.io",),
    generate=lambda seed, _: encode(ENTERPRISE_KEY, expand(seed, "ada address", 28)),
)
