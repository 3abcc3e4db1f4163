"""How an address is shown, which addresses could be mistaken for each other, and explorer links.

Addresses are shown in groups of four characters. Attackers generate addresses whose ends equal
those of a known one. An explorer link (contract 5.1) is offered only to a known host.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from urllib.parse import quote, urlsplit

from swapdesk.chain.addresses.kinds import ADDRESS_KINDS

END = 4

_PREFIXES = tuple(dict.fromkeys(mark for kind in ADDRESS_KINDS.values() for mark in kind.marks))
"""Beginnings, such as ``bc1q``, that all addresses of one form share. Comparisons skip them."""
_LONGEST_PREFIX = max(map(len, _PREFIXES))
_DRAWN_ALIKE = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("0", "o"), ("1", "l"), ("i", "l"))


def looks_like(candidate: str, known: str) -> bool:
    """Returns whether two different addresses can be mistaken for each other, because their first
    and last four characters agree. Prefix and case do not count. Names made of words are compared
    by how they appear on the screen."""
    if is_name(candidate) and is_name(known):
        return candidate != known and _drawn(candidate) == _drawn(known)
    if candidate[-END:].lower() != known[-END:].lower():
        # Nearly every pair of a book ends here, before prefixes are looked for.
        return False
    first, other = _body(candidate), _body(known)
    if min(len(first), len(other)) < 2 * END or _spelling(candidate) == _spelling(known):
        return False
    first, other = first.lower(), other.lower()
    return first[:END] == other[:END] and first[-END:] == other[-END:]


def differing_characters(address: str, other: str) -> int:
    """Returns the number of positions at which two addresses differ. Surplus characters count as
    differences."""
    first, second = _spelling(address), _spelling(other)
    differing = sum(a != b for a, b in zip(first, second, strict=False))
    return differing + abs(len(first) - len(second))


def prefix_of_form(address: str) -> str:
    """Returns the beginning that all addresses of this form share, such as ``0x``, ``bc1q`` or
    ``cosmos1``. Empty if the form has none."""
    lowered = address[:_LONGEST_PREFIX].lower()
    return next((prefix for prefix in _PREFIXES if lowered.startswith(prefix)), "")


def is_name(text: str) -> bool:
    """Returns whether the text is a name made of words, which some chains use for accounts."""
    return any(matches(text) for matches in name_forms())


@cache
def name_forms() -> tuple[Callable[[str], bool], ...]:
    return tuple(kind.is_name for kind in ADDRESS_KINDS.values() if kind.is_name is not None)


def _drawn(name: str) -> str:
    for drawn, alike in _DRAWN_ALIKE:
        name = name.replace(drawn, alike)
    return name


def _body(address: str) -> str:
    return address[len(prefix_of_form(address)) :]


def _spelling(address: str) -> str:
    return address.lower() if prefix_of_form(address) else address


SIZE = 4


def prefix_of(address: str) -> str:
    """Returns ``0x`` if the address or hash begins with it, otherwise an empty text."""
    return "0x" if address.startswith("0x") else ""


def groups(address: str) -> list[str]:
    """Returns the address in groups of four characters; the last may be shorter. ``0x`` and a name
    made of words are groups of their own."""
    if is_name(address):
        return [address]
    prefix = prefix_of(address)
    body = address[len(prefix) :]
    fours = [body[i : i + SIZE] for i in range(0, len(body), SIZE)]
    return [prefix, *fours] if prefix else fours


def grouped(address: str) -> str:
    """Returns the address as shown on the screen: ``0x 5aAe b605 ...``. This form is not for
    copying."""
    return " ".join(groups(address))


def ungrouped(text: str) -> str:
    """Returns the address without the blanks that :func:`grouped` or :func:`wrapped_address`
    inserted. Other texts are unchanged."""
    parts = text.split()
    whole = "".join(parts)
    return whole if len(parts) > 1 and groups(whole) == parts else text


def wrapped_address(address: str, width: int) -> list[str]:
    """Returns the whole address in rows that fit ``width`` cells, broken only between groups. A
    group wider than ``width`` still gets a row. Later rows are indented to align below the
    first."""
    indent = "   " if prefix_of(address) else ""
    parts = groups(address)[1:] if indent else groups(address)
    per_row = max(1, (width - len(indent) + 1) // (SIZE + 1))
    rows = [indent + " ".join(parts[i : i + per_row]) for i in range(0, len(parts), per_row)]
    if not indent:
        return rows
    first, *rest = rows or [indent]
    return [f"0x{first[2:]}".rstrip(), *rest]


def short(address: str) -> str:
    """Returns a shortened address: ``0x 71C7 …976F`` or ``bc1q …5mdq``. It is for lists, never for
    a place where a person decides about an address."""
    prefix = prefix_of(address)
    body = address[len(prefix) :]
    if len(body) <= 2 * SIZE or is_name(address):
        return grouped(address)
    cut = f"{body[:SIZE]} …{body[-SIZE:]}"
    return f"{prefix} {cut}" if prefix else cut


def differing_groups(address: str, other: str) -> list[int]:
    """Returns the indexes at which the :func:`groups` of two addresses differ, including surplus
    groups. Case counts unless the address has ``0x``."""
    first, second = groups(_comparable(address)), groups(_comparable(other))
    shared = min(len(first), len(second))
    differing = [i for i in range(shared) if first[i] != second[i]]
    return differing + list(range(shared, max(len(first), len(second))))


def _comparable(address: str) -> str:
    return address.lower() if prefix_of(address) else address


MAX_TEMPLATE = 500
MAX_VALUE = 200
PLACEHOLDER = "{txHash}"

KNOWN = frozenset(host for kind in ADDRESS_KINDS.values() for host in kind.explorers)
"""Hosts of public block explorers. Links to other hosts are never shown behind the text of an
address."""

_HOST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-.")
_FORBIDDEN = frozenset("\"'<>\\^`{|} ")


def known_page(link: str | None) -> str | None:
    """Returns ``link`` if it is safe to show behind other text: ``https``, no port or user name,
    and a host in :data:`KNOWN`. Otherwise None."""
    if not link or len(link) > MAX_TEMPLATE + 3 * MAX_VALUE:
        return None
    if any(not "!" <= c <= "~" or c in _FORBIDDEN for c in link):
        return None
    try:
        parts = urlsplit(link)
    except ValueError:
        return None
    return link if parts.scheme == "https" and parts.netloc in KNOWN else None


def transaction_link(template: str | None, transaction_hash: str) -> str | None:
    """Returns the template with the transaction's hash in place of ``{txHash}``. None if there is
    no template, or if the link would not be safe."""
    if not template or len(template) > MAX_TEMPLATE or PLACEHOLDER not in template:
        return None
    if not 1 <= len(transaction_hash) <= MAX_VALUE or set(transaction_hash) <= {"."}:
        # "." and ".." survive percent-encoding and would climb in the path.
        return None
    if not all("!" <= c <= "~" for c in transaction_hash):
        return None
    link = template.replace(PLACEHOLDER, quote(transaction_hash, safe=""))
    return link if _is_safe(link, template) else None


def _is_safe(link: str, template: str) -> bool:
    if not template.startswith("https://"):
        return False
    if any(not "!" <= c <= "~" or c in _FORBIDDEN for c in link):
        return False
    try:
        parts, bare = urlsplit(link), urlsplit(template)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        return False
    if PLACEHOLDER in bare.netloc or "@" in parts.netloc:
        return False
    labels = host.split(".")
    return (
        set(host) <= _HOST
        and len(labels) > 1
        and all(labels)
        # An address of four numbers, or of one, names a machine and not an explorer.
        and not labels[-1].isdigit()
    )
