"""Addresses in groups of four, so that a person can compare them; names in one piece."""

from __future__ import annotations

from swapdesk.chain.addresses.lookalike import is_name

SIZE = 4


def prefix_of(address: str) -> str:
    """``0x`` when it stands before an EVM address or hash, else nothing."""
    return "0x" if address.startswith("0x") else ""


def groups(address: str) -> list[str]:
    """``0x`` as a group of its own, then groups of four; the last may be shorter.

    A name of words is one group.
    """
    if is_name(address):
        return [address]
    prefix = prefix_of(address)
    body = address[len(prefix) :]
    fours = [body[i : i + SIZE] for i in range(0, len(body), SIZE)]
    return [prefix, *fours] if prefix else fours


def grouped(address: str) -> str:
    """``0x 5aAe b605 ...``: for the screen; what is copied is the address itself."""
    return " ".join(groups(address))


def wrap_groups(address: str, per_line: int) -> list[str]:
    """Lines of ``per_line`` groups; later lines stand under the first group after ``0x``."""
    if per_line < 1:
        raise ValueError("a line holds at least one group")
    parts = groups(address)
    indent = ""
    if parts and parts[0] == "0x":
        indent, parts = "   ", parts[1:]
    lines = [" ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]
    if not indent:
        return lines
    first, *rest = lines or [""]
    return [f"0x {first}".rstrip(), *(indent + line for line in rest)]


def short(address: str) -> str:
    """``0x 71C7 …976F`` or ``bc1q …5mdq``, for lists alone, never where something is decided."""
    prefix = prefix_of(address)
    body = address[len(prefix) :]
    if len(body) <= 2 * SIZE or is_name(address):
        return grouped(address)
    cut = f"{body[:SIZE]} …{body[-SIZE:]}"
    return f"{prefix} {cut}" if prefix else cut


def differing_groups(one: str, other: str) -> list[int]:
    """Indexes into ``groups`` at which two addresses differ; case counts except after ``0x``.

    When one has more groups, the ones the other lacks differ too.
    """
    first, second = groups(_comparable(one)), groups(_comparable(other))
    shared = min(len(first), len(second))
    differing = [i for i in range(shared) if first[i] != second[i]]
    return differing + list(range(shared, max(len(first), len(second))))


def _comparable(address: str) -> str:
    return address.lower() if prefix_of(address) else address
