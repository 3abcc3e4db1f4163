"""Links to a block explorer (contract 5.1).

A template is text from a server. Only an ``https`` link to a named public host comes out,
with the value percent-encoded; anything else is None and no link is offered.
"""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from swapdesk.chain.addresses.kinds import ADDRESS_KINDS

MAX_TEMPLATE = 500
MAX_VALUE = 200

KNOWN = frozenset(host for kind in ADDRESS_KINDS.values() for host in kind.explorers)
"""Hosts of public block explorers. A link of a service to any other is shown, never hidden behind
an address."""

_HOST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-.")
_FORBIDDEN = frozenset("\"'<>\\^`{|} ")


def transaction_link(template: str | None, transaction_hash: str) -> str | None:
    """The link of a transaction, filled at ``{txHash}``, or None when it is not safe."""
    return _filled(template, "{txHash}", transaction_hash)


def address_link(template: str | None, address: str) -> str | None:
    """The link of an address, filled at ``{address}``, or None when it is not safe."""
    return _filled(template, "{address}", address)


def known_page(link: str | None) -> str | None:
    """``link`` where it may stand behind other words, so that its host is not read: an ``https``
    page of an explorer of :data:`KNOWN`, without a port or an account. Else None."""
    if not link or len(link) > MAX_TEMPLATE + 3 * MAX_VALUE:
        return None
    if any(not "!" <= c <= "~" or c in _FORBIDDEN for c in link):
        return None
    try:
        parts = urlsplit(link)
    except ValueError:
        return None
    return link if parts.scheme == "https" and parts.netloc in KNOWN else None


def _filled(template: str | None, placeholder: str, value: str) -> str | None:
    if not template or len(template) > MAX_TEMPLATE or placeholder not in template:
        return None
    if not 1 <= len(value) <= MAX_VALUE or not all("!" <= c <= "~" for c in value):
        return None
    if not value.strip("."):
        # "." and ".." survive percent-encoding and would climb in the path.
        return None
    link = template.replace(placeholder, quote(value, safe=""))
    return link if _is_safe(link, template, placeholder) else None


def _is_safe(link: str, template: str, placeholder: str) -> bool:
    if not template.startswith("https://"):
        return False
    if any(not "!" <= c <= "~" or c in _FORBIDDEN for c in link):
        return False
    try:
        parts, bare = urlsplit(link), urlsplit(template)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        return False
    if placeholder in bare.netloc or "@" in parts.netloc:
        return False
    labels = host.split(".")
    return (
        set(host) <= _HOST
        and len(labels) > 1
        and all(labels)
        # An address of four numbers, or of one, names a machine and not an explorer.
        and not labels[-1].isdigit()
    )
