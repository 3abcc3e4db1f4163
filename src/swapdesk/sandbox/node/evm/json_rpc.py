"""Reads Ethereum JSON-RPC strictly. What cannot be read raises a ``Problem`` with geth's message
and code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, ClassVar

from msgspec import Struct

from swapdesk.chain.rpc.ledger import RpcCode


class Problem(Exception):
    """An error of JSON-RPC, with the fields of its error object."""

    def __init__(self, message: str, code: IntEnum = RpcCode.REFUSED, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    def as_json(self) -> dict[str, object]:
        shown: dict[str, object] = {"code": int(self.code), "message": str(self)}
        if self.data is not None:
            shown["data"] = self.data
        return shown


_QUANTITY = re.compile(r"0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63})")
_HEX = re.compile(r"0x([0-9a-fA-F]{2})*")


def bad_params(message: str) -> Problem:
    return Problem(message, RpcCode.BAD_PARAMS)


def bad(message: str) -> Problem:
    return bad_params(f"invalid argument: {message}")


def read_quantity(value: Any, name: str) -> int:
    """Reads a hex quantity. Raises Problem."""
    if not isinstance(value, str) or not _QUANTITY.fullmatch(value):
        raise bad(f"{name} is no hex quantity")
    return int(value, 16)


def read_bytes(value: Any, name: str, length: int | None = None) -> bytes:
    """Reads hex data, of exactly ``length`` bytes if given. Raises Problem."""
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise bad(f"{name} is no hex data")
    octets = bytes.fromhex(value[2:])
    if length is not None and len(octets) != length:
        raise bad(f"{name} has {len(octets)} bytes, not {length}")
    return octets


def read_address(value: Any, name: str) -> bytes:
    """Reads an address of 20 bytes. Raises Problem."""
    return read_bytes(value, name, 20)


def read_word(value: Any, name: str) -> int:
    """Reads a storage word: up to 32 bytes, with or without leading zeros. Raises Problem."""
    if not isinstance(value, str) or not re.fullmatch(r"0x[0-9a-fA-F]{1,64}", value):
        raise bad(f"{name} is no storage word")
    return int(value, 16)


def read_object(value: Any, name: str, names: Iterable[str]) -> Mapping[str, Any]:
    """Reads an object whose members are all among ``names``; null members are left out. Raises
    Problem."""
    if not isinstance(value, dict):
        raise bad(f"{name} is no object")
    unknown = set(value) - set(names)
    if unknown:
        raise bad(f"{name} has an unknown field {sorted(unknown)[0]!r}")
    return {key: member for key, member in value.items() if member is not None}


_CALL_FIELDS = (
    "from",
    "to",
    "gas",
    "gasPrice",
    "maxFeePerGas",
    "maxPriorityFeePerGas",
    "value",
    "nonce",
    "data",
    "input",
    "chainId",
    "type",
)


class CallRequest(Struct, frozen=True):
    """An unsigned call, as for ``eth_call``; its fields have py-evm's names for a type 2
    transaction. An empty ``to`` creates a contract. ``gas`` and ``nonce`` must be set before the
    call is executed."""

    type_id: ClassVar[int] = 2
    access_list: ClassVar[tuple[()]] = ()

    sender: bytes = bytes(20)
    to: bytes = b""
    gas: int | None = None
    max_fee_per_gas: int = 0
    max_priority_fee_per_gas: int = 0
    value: int = 0
    data: bytes = b""
    nonce: int | None = None

    @property
    def intrinsic_gas(self) -> int:
        """Gas that the call uses before its first opcode."""
        zeros = self.data.count(0)
        gas = 21_000 + 4 * zeros + 16 * (len(self.data) - zeros)
        return gas + (0 if self.to else 32_000)

    @classmethod
    def read(cls, value: Any, chain_id: int) -> CallRequest:
        """Reads a call object of JSON-RPC. Raises Problem if it is malformed, contradictory or for
        another chain id."""
        given = read_object(value, "the call", _CALL_FIELDS)
        if "chainId" in given and read_quantity(given["chainId"], "chainId") != chain_id:
            asked = read_quantity(given["chainId"], "chainId")
            raise Problem(f"chainId does not match node's (have={asked}, want={chain_id})")
        if "gasPrice" in given and ("maxFeePerGas" in given or "maxPriorityFeePerGas" in given):
            raise Problem("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified")
        if "data" in given and "input" in given and given["data"] != given["input"]:
            raise Problem('both "data" and "input" are set and not equal. Please use "input"')
        numbers = {
            name: read_quantity(given[name], name)
            for name in ("gas", "gasPrice", "maxFeePerGas", "maxPriorityFeePerGas", "value")
            if name in given
        }
        price = numbers.get("gasPrice", 0)
        max_fee = numbers.get("maxFeePerGas", price)
        max_tip = numbers.get("maxPriorityFeePerGas", price)
        if max_tip > max_fee and "maxFeePerGas" in numbers:
            raise Problem(
                f"maxFeePerGas ({max_fee}) < maxPriorityFeePerGas ({max_tip})",
            )
        return cls(
            sender=read_address(given["from"], "from") if "from" in given else bytes(20),
            to=read_address(given["to"], "to") if given.get("to") not in (None, "0x") else b"",
            gas=numbers.get("gas"),
            max_fee_per_gas=max_fee,
            max_priority_fee_per_gas=min(max_tip, max_fee),
            value=numbers.get("value", 0),
            data=read_bytes(given.get("input", given.get("data", "0x")), "input"),
            nonce=read_quantity(given["nonce"], "nonce") if "nonce" in given else None,
        )
