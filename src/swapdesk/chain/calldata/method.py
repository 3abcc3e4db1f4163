"""A method of a contract: its selector, and the exact encoding and decoding of its arguments."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from msgspec import Struct

from swapdesk.chain.addresses.evm import checksummed, keccak


class CalldataError(ValueError):
    """Raised for data that is not an exact call of the method, or for arguments that cannot be
    encoded."""


class Method(Struct, frozen=True, dict=True):
    """A method of a contract: the types of its arguments, and their names for :meth:`read`."""

    name: str
    types: tuple[str, ...]
    names: tuple[str, ...]
    payable: bool = False

    @property
    def signature(self) -> str:
        return f"{self.name}({','.join(self.types)})"

    @cached_property
    def selector(self) -> bytes:
        return keccak(self.signature.encode())[:4]

    def call(self, *arguments: Any) -> bytes:
        """Returns the calldata of a call with these arguments. Raises CalldataError if a value does
        not fit its type."""
        # Imported on use: it takes longer than everything else that names a call.
        from eth_abi.abi import encode
        from eth_abi.exceptions import EncodingError

        try:
            return self.selector + encode(self.types, arguments)
        except (EncodingError, TypeError, ValueError, OverflowError) as error:
            raise CalldataError(f"{self.name}: {error}") from error

    def read(self, data: bytes) -> dict[str, Any]:
        """Returns the arguments in calldata, by name. Raises CalldataError unless :meth:`call`
        would return exactly these bytes."""
        from eth_abi.abi import decode
        from eth_abi.exceptions import DecodingError

        if data[:4] != self.selector:
            raise CalldataError("another method is called")
        try:
            values = decode(self.types, data[4:], strict=True)
        except (DecodingError, ValueError, OverflowError) as error:
            raise CalldataError(f"the arguments of {self.name} cannot be read") from error
        if self.call(*values) != data:
            raise CalldataError(f"the arguments of {self.name} are not in their plain form")
        return dict(zip(self.names, map(_normal, values), strict=True))


def _normal(value: Any) -> Any:
    if isinstance(value, str) and len(value) == 42 and value.startswith("0x"):
        return checksummed(value)
    if isinstance(value, tuple | list):
        return tuple(_normal(item) for item in value)
    return value


def text_in(data: bytes) -> bytes | None:
    """Returns the bytes of a text that is ABI-encoded in ``data``. None if ``data`` is anything but
    one such text."""
    if len(data) < 64 or int.from_bytes(data[:32], "big") != 32:
        return None
    length = int.from_bytes(data[32:64], "big")
    text = data[64 : 64 + length]
    return text if len(text) == length else None


def method(signature: str, names: str = "", *, payable: bool = False) -> Method:
    """Returns the method with this signature. ``names`` are its arguments' names, separated by
    spaces: ``method("transfer(address,uint256)", "to amount")``."""
    name, _, rest = signature.partition("(")
    types = _split(rest.removesuffix(")"))
    return Method(name, types, tuple(names.split()), payable)


def _split(text: str) -> tuple[str, ...]:
    parts: list[str] = []
    depth, start = 0, 0
    for i, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return (*parts, text[start:]) if text else ()
