"""Values of elementary types, taken only in the spelling that has one meaning.

JSON numbers arrive as the exact text of their token (``wire.encoding.numbers.WireNumber``).
"""

from __future__ import annotations

import re

from swapdesk.agent.typed_data.refusal import TypedDataRefused
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.wire.encoding.numbers import WireNumber

_DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,77}", re.ASCII)
_HEX_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,64}", re.ASCII)
_HEX = re.compile(r"0x([0-9a-fA-F]{2})*", re.ASCII)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)

Value = int | bool | str | bytes
"""An elementary value as it is signed: addresses are text with their checksum."""


def read_value(kind: str, raw: object, path: str) -> Value:
    """``raw`` as a value of the elementary type ``kind``; raises TypedDataRefused."""
    if kind == "bool":
        if raw is not True and raw is not False:
            raise TypedDataRefused("BOOL", "a bool must be true or false", path)
        return raw
    if kind == "string":
        if type(raw) is not str:
            raise TypedDataRefused("STRING", "a text is needed", path)
        return raw
    if kind == "address":
        return _address(raw, path)
    if kind.startswith("bytes"):
        return _bytes(raw, kind.removeprefix("bytes"), path)
    signed = kind.startswith("int")
    return _integer(raw, int(kind.removeprefix("u").removeprefix("int")), signed, path)


def _address(raw: object, path: str) -> str:
    if type(raw) is not str or _ADDRESS.fullmatch(raw) is None:
        raise TypedDataRefused("ADDRESS", "an address is 0x and 40 hexadecimal digits", path)
    spelled = checksummed(raw)
    digits = raw[2:]
    if raw != spelled and digits != digits.lower() and digits != digits.upper():
        raise TypedDataRefused("CHECKSUM", "the checksum of an address is wrong", path)
    return spelled


def _bytes(raw: object, size: str, path: str) -> bytes:
    if type(raw) is not str or _HEX.fullmatch(raw) is None:
        raise TypedDataRefused("BYTES", "bytes are 0x and pairs of hexadecimal digits", path)
    data = bytes.fromhex(raw[2:])
    if size and len(data) != int(size):
        raise TypedDataRefused("BYTES_LENGTH", f"exactly {size} bytes are needed", path)
    return data


def _integer(raw: object, bits: int, signed: bool, path: str) -> int:
    if type(raw) is int:
        number = raw
    elif type(raw) in (str, WireNumber) and _DECIMAL.fullmatch(str(raw)):
        number = int(str(raw))
    elif type(raw) is str and _HEX_NUMBER.fullmatch(raw):
        number = int(raw, 16)
    else:
        raise TypedDataRefused("INTEGER", "a whole number is needed", path)
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)
    if not low <= number < high:
        raise TypedDataRefused("RANGE", "a number is outside its type", path)
    return number


def encoded(kind: str, value: Value) -> bytes:
    """32 bytes of a value whose type has a fixed size (EIP-712: Definition of encodeData)."""
    if isinstance(value, bool):
        return int(value).to_bytes(32, "big")
    if isinstance(value, int):
        return value.to_bytes(32, "big", signed=value < 0)
    if isinstance(value, bytes):
        return value.ljust(32, b"\0")
    if kind != "address":
        raise ValueError(f"{kind} has no fixed size")
    return int(value, 16).to_bytes(32, "big")
