"""How an address is shown, which addresses could be mistaken for each other, and explorer links.

An address is drawn in groups of four, so that a person can compare it; a name of words in one
piece. In address poisoning an attacker grinds an address whose ends equal those of one the victim
has paid, because people compare the ends. Names are read as a whole: those that are drawn alike
look alike.

The template of an explorer (contract 5.1) is text from a server. Only an ``https`` link to a named
public host comes out, with the value percent-encoded; anything else is None and no link is offered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from urllib.parse import quote, urlsplit

from swapdesk.chain.addresses.kinds import ADDRESS_KINDS

END = 4

_PREFIXES = tuple(dict.fromkeys(mark for kind in ADDRESS_KINDS.values() for mark in kind.marks))
"""Left out of the comparison: they tell nothing. Behind them case has no meaning."""
_LONGEST_PREFIX = max(map(len, _PREFIXES))
_DRAWN_ALIKE = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("0", "o"), ("1", "l"), ("i", "l"))


def looks_like(candidate: str, known: str) -> bool:
    """True if both are different addresses whose first and last four characters agree.

    They are compared without prefix and without case. A pair that differs in case alone looks
    alike, too, except where case means nothing (EVM, bech32). Names look alike if they are drawn
    alike.
    """
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
    """How many places differ, the surplus of the longer one included."""
    first, second = _spelling(address), _spelling(other)
    differing = sum(a != b for a, b in zip(first, second, strict=False))
    return differing + abs(len(first) - len(second))


def prefix_of_form(address: str) -> str:
    """The beginning of every address of its form: ``0x``, ``bc1q``, ``cosmos1``; else empty."""
    lowered = address[:_LONGEST_PREFIX].lower()
    return next((prefix for prefix in _PREFIXES if lowered.startswith(prefix)), "")


def is_name(text: str) -> bool:
    """True for a name of words, on a chain that has names for accounts."""
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
    """``0x`` if the address or hash begins with it; else empty."""
    return "0x" if address.startswith("0x") else ""


def groups(address: str) -> list[str]:
    """``0x`` as a group of its own, then groups of four; the last may be shorter. A name of words
    is one group."""
    if is_name(address):
        return [address]
    prefix = prefix_of(address)
    body = address[len(prefix) :]
    fours = [body[i : i + SIZE] for i in range(0, len(body), SIZE)]
    return [prefix, *fours] if prefix else fours


def grouped(address: str) -> str:
    """``0x 5aAe b605 ...``, for the screen; what is copied is the address itself."""
    return " ".join(groups(address))


def ungrouped(text: str) -> str:
    """The address that :func:`grouped` or :func:`wrapped_address` drew; any other text as it is."""
    parts = text.split()
    whole = "".join(parts)
    return whole if len(parts) > 1 and groups(whole) == parts else text


def wrapped_address(address: str, width: int) -> list[str]:
    """The whole address in rows of at most ``width`` cells, broken between groups only.

    A row has at least one group, however narrow it is. Rows after the first begin under the first
    group after ``0x``.
    """
    indent = "   " if prefix_of(address) else ""
    parts = groups(address)[1:] if indent else groups(address)
    per_row = max(1, (width - len(indent) + 1) // (SIZE + 1))
    rows = [indent + " ".join(parts[i : i + per_row]) for i in range(0, len(parts), per_row)]
    if not indent:
        return rows
    first, *rest = rows or [indent]
    return [f"0x{first[2:]}".rstrip(), *rest]


def short(address: str) -> str:
    """``0x 71C7 …976F`` or ``bc1q …5mdq``: for lists, never where something is decided."""
    prefix = prefix_of(address)
    body = address[len(prefix) :]
    if len(body) <= 2 * SIZE or is_name(address):
        return grouped(address)
    cut = f"{body[:SIZE]} …{body[-SIZE:]}"
    return f"{prefix} {cut}" if prefix else cut


def differing_groups(address: str, other: str) -> list[int]:
    """Indexes into ``groups`` at which two addresses differ; case counts except after ``0x``.
    Groups that only one of them has differ, too."""
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
"""Hosts of public block explorers. A link of a service to any other is shown, never hidden behind
an address."""

_HOST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-.")
_FORBIDDEN = frozenset("\"'<>\\^`{|} ")


def known_page(link: str | None) -> str | None:
    """``link`` if it may stand behind other words, so that its host is not read: an ``https`` page
    of an explorer of :data:`KNOWN`, without a port or an account. Else None."""
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
    """The link of a transaction, filled at ``{txHash}``; None if it is not safe."""
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
