"""Links to a block explorer (spec: Chain.explorerUrl, hashUrl, addressUrl).

A template is text from a server. Only an ``https`` link to a named public host comes out,
with the value percent-encoded; anything else is None and no link is offered.
"""

from __future__ import annotations

from urllib.parse import quote, urlsplit

MAX_TEMPLATE = 500
MAX_VALUE = 200

_HOST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-.")
_FORBIDDEN = frozenset("\"'<>\\^`{|} ")


def transaction_link(template: str | None, transaction_hash: str) -> str | None:
    """The link of a transaction, filled at ``{txHash}``, or None when it is not safe."""
    return _filled(template, "{txHash}", transaction_hash)


def address_link(template: str | None, address: str) -> str | None:
    """The link of an address, filled at ``{address}``, or None when it is not safe."""
    return _filled(template, "{address}", address)


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
