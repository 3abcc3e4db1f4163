"""What a reverted call says: reason, panic, or the selector of an error of the contract's own.

The words come from a contract, so they are data: cut, and printable ASCII.
"""

from __future__ import annotations

from typing import Final

WORDS_LIMIT = 200
"""Characters of a reason that are kept."""

_REASON: Final = bytes.fromhex("08c379a0")
_PANIC: Final = bytes.fromhex("4e487b71")
_PANICS = {
    0x01: "an assertion failed",
    0x11: "a number left its range",
    0x12: "a division by zero",
    0x21: "a value outside its enumeration",
    0x31: "an empty array was shortened",
    0x32: "an index beyond its array",
    0x41: "too much memory was asked for",
    0x51: "an unset function was called",
}


def revert_words(data: bytes) -> str:
    """The reason in words; empty when the call said nothing."""
    if not data:
        return ""
    head, rest = data[:4], data[4:]
    if head == _PANIC and len(rest) == 32:
        number = int.from_bytes(rest, "big")
        return _PANICS.get(number, f"panic {number:#x}" if number < 256 else "panic")
    if head == _REASON:
        return _text(rest) or "reverted without a readable reason"
    return f"error 0x{head.hex()} of the contract"


def _text(data: bytes) -> str | None:
    """An ABI-encoded text that stands alone; None for anything else."""
    if len(data) < 64 or int.from_bytes(data[:32], "big") != 32:
        return None
    length = int.from_bytes(data[32:64], "big")
    if length > len(data) - 64:
        return None
    text = data[64 : 64 + length].decode("utf-8", "replace")
    kept = "".join(ch if ch.isascii() and ch.isprintable() else "?" for ch in text[:WORDS_LIMIT])
    return kept.strip()
