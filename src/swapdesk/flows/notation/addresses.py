"""Addresses and hashes as text: groups of four, never cut where something is decided."""

from __future__ import annotations


def address_groups(address: str) -> list[str]:
    """Groups of four from the start; ``0x`` is a group of its own."""
    head = ["0x"] if address[:2] in ("0x", "0X") else []
    rest = address[2:] if head else address
    return head + [rest[at : at + 4] for at in range(0, len(rest), 4)]


def grouped_address(address: str) -> str:
    """``0x 5aAe b605 ... eAed``: the whole address, one space between groups."""
    return " ".join(address_groups(address))


def wrapped_address(address: str, width: int) -> list[str]:
    """The whole address in rows of at most ``width`` cells, broken between groups only.

    Rows after the first begin under the first group after ``0x``.
    """
    groups = address_groups(address)
    indent = "   " if groups[:1] == ["0x"] else ""
    rows: list[str] = []
    row = ""
    for group in groups:
        joined = f"{row} {group}" if row.strip() else row + group
        if row.strip() and len(joined) > width:
            rows.append(row)
            joined = indent + group
        row = joined
    return [*rows, row] if row or not rows else rows


def short_address(address: str) -> str:
    """First and last four characters, for lists only: ``0x 71C7 …976F``, ``bc1q …5mdq``."""
    prefix, rest = ("0x ", address[2:]) if address[:2] in ("0x", "0X") else ("", address)
    return f"{prefix}{rest}" if len(rest) <= 9 else f"{prefix}{rest[:4]} …{rest[-4:]}"
