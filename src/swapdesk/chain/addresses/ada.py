"""Cardano addresses: Shelley's in bech32 and Byron's in base58 with a CRC (CIP-19)."""

from __future__ import annotations

import binascii

from swapdesk.chain.addresses import base58, bech32, cbor
from swapdesk.chain.addresses.verdict import (
    AddressProblem,
    Reading,
    burned,
    require_alphabet,
    wrong_checksum,
    wrong_length,
    wrong_start,
)
from swapdesk.chain.addresses.witness import checksum_problem, require_bech32

PREFIX, STAKE_PREFIX = "addr", "stake"
TEST_PREFIXES = frozenset({"addr_test", "stake_test"})
MAINNET = 1
ENTERPRISE_KEY = 6

_BECH32_LIMIT = 128
_HASH = 28
_BYRON_STARTS = ("Ae2", "DdzFF")
_BYRON_LONGEST = 160
_NETWORK_MAGIC = 2
_ENCODED_CBOR = 24


def encode(kind: int, hashes: bytes, network: int = MAINNET) -> str:
    """A Shelley address out of its type and the hashes behind its header byte."""
    payload = bytes([kind << 4 | network]) + hashes
    values = bech32.regroup(payload, 8, 5, pad=True)
    return bech32.encode(PREFIX, values, bech32.BECH32)


def read(text: str) -> Reading:
    """The address; a Shelley one in lower case. Raises AddressProblem."""
    lowered = text[:6].lower()
    if lowered.startswith(f"{PREFIX}1"):
        return Reading(_read_shelley(text))
    if lowered.startswith(f"{STAKE_PREFIX}1"):
        raise AddressProblem(
            "prefix",
            "This is a stake address: it receives rewards, not payments. "
            "Give the address that starts with addr1.",
            1,
            whole=True,
        )
    if text.startswith(_BYRON_STARTS):
        return Reading(_read_byron(text), noun="address of the Byron era")
    raise wrong_start("addr1")


def _read_shelley(text: str) -> str:
    lowered = require_bech32(text, len(PREFIX) + 1)
    if not 5 + 6 < len(lowered) <= _BECH32_LIMIT:
        raise wrong_length(len(text), "58 or 103")
    try:
        _, values, constant = bech32.decode(lowered, _BECH32_LIMIT)
        payload = bytes(bech32.regroup(values, 5, 8, pad=False))
    except bech32.Bech32Error as error:
        if error.fault == "checksum":
            raise checksum_problem(lowered, PREFIX, bech32.BECH32) from None
        raise AddressProblem("length", "its data has a length no wallet uses") from None
    if constant != bech32.BECH32:
        raise wrong_checksum()
    kind, network = payload[0] >> 4, payload[0] & 15
    if network != MAINNET or kind > 7:
        raise AddressProblem("prefix", "its header is not of a payment on the main network", 6)
    _require_hashes(kind, payload[1:], len(text))
    if not any(payload[1 : 1 + _HASH]):
        raise burned()
    return lowered


def _require_hashes(kind: int, hashes: bytes, length: int) -> None:
    if kind in (4, 5):
        if not _is_pointer(hashes[_HASH:]):
            raise AddressProblem("length", "its pointer to a stake key is broken")
        return
    if len(hashes) != (2 * _HASH if kind < 4 else _HASH):
        raise wrong_length(length, "103" if kind < 4 else "58")


def _is_pointer(tail: bytes) -> bool:
    """Three numbers of seven bits a byte, the last byte of each without its top bit."""
    ends = [place for place, byte in enumerate(tail) if byte < 0x80]
    return len(ends) == 3 and ends[-1] == len(tail) - 1


def encode_byron(root: bytes) -> str:
    """The address of a 28-byte root, without attributes, as later wallets made them."""
    payload = b"\x83" + cbor.encode_head(2, len(root)) + root + b"\xa0\x00"
    body = cbor.encode_head(6, _ENCODED_CBOR) + cbor.encode_head(2, len(payload)) + payload
    return base58.encode(b"\x82" + body + cbor.encode_head(0, binascii.crc32(payload)))


def _read_byron(text: str) -> str:
    require_alphabet(text, base58.BITCOIN_ALPHABET, "base58")
    if len(text) > _BYRON_LONGEST:
        raise wrong_length(len(text), f"at most {_BYRON_LONGEST}")
    try:
        outer = cbor.decode(base58.decode(text))
    except (base58.Base58Error, cbor.CborError):
        raise wrong_checksum() from None
    match outer:
        case [(24, bytes() as payload), int() as crc] if binascii.crc32(payload) == crc:
            pass
        case _:
            raise wrong_checksum()
    try:
        inner = cbor.decode(payload)
    except cbor.CborError:
        raise AddressProblem("length", "its data is not that of an address") from None
    match inner:
        case [bytes() as root, dict() as attributes, int()] if len(root) == _HASH:
            if _NETWORK_MAGIC in attributes:
                raise AddressProblem("prefix", "it is of a test network", 1)
            if not any(root):
                raise burned()
        case _:
            raise AddressProblem("length", "its data is not that of an address")
    return text
