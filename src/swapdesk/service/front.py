"""The proxies in front of the service, and the address by which callers know the service.

Anybody can send forwarding headers, so they count only from a trusted proxy. Read from the right,
the first address that is no trusted proxy's is the caller's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from itertools import islice
from urllib.parse import urlsplit

from msgspec import Struct

Network = IPv4Network | IPv6Network

HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.:-]{0,252}[A-Za-z0-9])?")
"""Pattern of a host name or an address, without brackets."""

_MOST_PROXIES = 32
"""Largest number of entries of a forwarding header that are read."""
_AUTHORITY = re.compile(
    r"(?:[A-Za-z0-9][A-Za-z0-9.-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?"
)
_NODE = re.compile(r"\[(?P<six>[^\]]*)\](?::[0-9]+)?|(?P<four>[0-9.]+)(?::[0-9]+)?|(?P<bare>.*)")
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PAIR = re.compile(rf'[ \t]*(?P<name>{_TOKEN})=(?:(?P<plain>{_TOKEN})|"(?P<text>[^"\\]*)")[ \t]*')


class Told(Struct, frozen=True):
    """What trusted proxies state about a request: the caller's address, and the scheme and host of
    the URL that the caller used. A field is None if not stated."""

    address: str | None = None
    scheme: str | None = None
    host: str | None = None


_NOTHING = Told()


class Front(Struct, frozen=True):
    """The address by which callers reach the service, and its trusted proxies. ``prefix`` is what
    precedes ``/v2`` in the paths that the proxies send."""

    public_url: str = ""
    prefix: str = ""
    proxies: tuple[Network, ...] = ()

    @property
    def server(self) -> str:
        return self.public_url or self.prefix

    @property
    def hosts(self) -> frozenset[str]:
        name = urlsplit(self.public_url).hostname
        return frozenset({name} if name else ())

    def trusts(self, address: str) -> bool:
        peer = _address(address) if self.proxies else None
        return peer is not None and self._is_proxy(peer)

    def told(self, peer: str, headers: Iterable[tuple[bytes, bytes]]) -> Told:
        """Returns what the forwarding headers of a request state. Ignores the headers if they are
        malformed or if ``peer``, the sender's address, is not a trusted proxy's."""
        if not self.trusts(peer):
            return _NOTHING
        sent: dict[bytes, str] = {}
        for name, value in headers:
            if name == b"forwarded" or name.startswith(b"x-forwarded-"):
                text = value.decode("latin-1")
                sent[name] = f"{sent[name]},{text}" if name in sent else text
        elements = _elements(sent.get(b"forwarded", ""))
        standard = self._chosen([(element.get("for", ""), element) for element in elements])
        listed = sent.get(b"x-forwarded-for", "").split(",")
        common = self._chosen([(node, {}) for node in listed])
        addresses = {hop[0] for hop in (standard, common) if hop is not None}
        pairs = standard[1] if standard is not None else {}
        return Told(
            # A proxy writes one of the two and may pass on the other: which, nobody here knows.
            address=addresses.pop() if len(addresses) == 1 else None,
            scheme=_scheme(pairs.get("proto") or _last(sent, b"x-forwarded-proto")),
            host=_authority(pairs.get("host") or _last(sent, b"x-forwarded-host")),
        )

    def _chosen(
        self, hops: Sequence[tuple[str, dict[str, str]]]
    ) -> tuple[str, dict[str, str]] | None:
        """Returns the caller's address, which is the last address that does not belong to a trusted
        proxy, and the other parameters of its entry. Returns None if there is no address."""
        chosen = None
        for node, pairs in islice(reversed(hops), _MOST_PROXIES):
            address = _node(node)
            if address is None:
                break
            chosen = str(address), pairs
            if not self._is_proxy(address):
                break
        return chosen

    def _is_proxy(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self.proxies)


def network_of(text: str) -> Network:
    """Parses an address or a network in CIDR form. Raises ValueError, also if host bits are set."""
    return ip_network(text)


def customer_of(address: str) -> str:
    """Returns the name under which the rate limits count calls from an address. For IPv6, all
    addresses of a /64 network share a name."""
    if ":" not in address:
        return address
    parsed = IPv6Address(address.partition("%")[0])
    return str(parsed.ipv4_mapped or int(parsed) >> 64)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        parsed = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return parsed.ipv4_mapped or parsed if isinstance(parsed, IPv6Address) else parsed


def _node(text: str) -> IPv4Address | IPv6Address | None:
    match = _NODE.fullmatch(text.strip(" \t"))
    return None if match is None else _address(match["six"] or match["four"] or match["bare"] or "")


def _elements(header: str) -> list[dict[str, str]]:
    """Returns the elements of the header ``Forwarded`` (RFC 7239); empty if any part is
    malformed."""
    elements: list[dict[str, str]] = []
    pairs: dict[str, str] = {}
    at = 0
    while header:
        match = _PAIR.match(header, at)
        name = "" if match is None else match["name"].lower()
        if match is None or name in pairs:
            return []
        pairs[name] = match["plain"] if match["text"] is None else match["text"]
        at = match.end() + 1
        ends = header[match.end() : at]
        if ends != ";":
            elements.append(pairs)
            pairs = {}
        if not ends:
            break
        if ends not in ",;":
            return []
    return elements


def _last(sent: dict[bytes, str], name: bytes) -> str:
    return sent.get(name, "").rpartition(",")[2].strip(" \t")


def _scheme(text: str) -> str | None:
    return text.lower() if text.lower() in ("http", "https") else None


def _authority(text: str) -> str | None:
    return text if _AUTHORITY.fullmatch(text) else None
