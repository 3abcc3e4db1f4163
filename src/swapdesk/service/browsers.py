"""Which websites may send requests from a browser and read the answers (contract 2.13 to 2.15).

``partner-id`` is meant for browsers: every website may use it, unless the partner lists the allowed
ones. Pages of other websites must not use an API key, nor the order stream, which takes API keys
only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from swapdesk.service.access import Caller
from swapdesk.service.errors import ServiceError
from swapdesk.wire.errors import ErrorCode

Headers = list[tuple[bytes, bytes]]

EXPOSED = (
    "x-request-id",
    "retry-after",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
)
"""Response headers that a page may read."""

ASKED_WITH = ("partner-id", "content-type")
"""Request headers that a page may send."""

PREFLIGHT_SECONDS = 600
"""Seconds for which a browser may cache a preflight."""

_EXPOSE = (b"access-control-expose-headers", ", ".join(EXPOSED).encode())
EVERY_PAGE: Headers = [(b"access-control-allow-origin", b"*"), _EXPOSE]

PREFLIGHT: Headers = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"GET"),
    (b"access-control-allow-headers", ", ".join(ASKED_WITH).encode()),
    (b"access-control-max-age", b"%d" % PREFLIGHT_SECONDS),
]
"""Headers of the answer to a preflight request. They allow every website, because a preflight names
no partner; the partner's list is checked later."""


def refuse_foreign(sent: Mapping[str, str], *, stream: bool = False) -> None:
    """Raises ACCESS_DENIED for a request from a page of another website, if the request has an API
    key or if ``stream`` is True (it opens the order stream). ``sent`` holds the headers by
    lower-case name."""
    origin = sent.get("origin")
    if origin is None or not (stream or "authorization" in sent):
        return
    if _is_foreign(origin, sent.get("host", "")):
        raise ServiceError(
            ErrorCode.ACCESS_DENIED, "An API key is not taken from pages of other origins."
        )


def _is_foreign(origin: str, host: str) -> bool:
    name = _name(origin)
    if not name:
        return True
    if name == "localhost" or name == _name(f"//{host}"):
        return False
    try:
        return not ip_address(name).is_loopback
    except ValueError:
        return True


def _name(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


_ORIGIN = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?"
)
_USUAL_PORTS = {"http": "80", "https": "443"}
_LONGEST_ORIGIN = 255


def origin_of(text: str) -> str:
    """Returns a normalized origin: scheme, host and, if given, port. Raises ValueError for anything
    else, a default port, or a host that is not ASCII."""
    match = _ORIGIN.fullmatch(text.lower()) if text.isascii() else None
    if match is None or len(text) > _LONGEST_ORIGIN or ".." in match["host"]:
        raise ValueError("An origin is http:// or https:// with a host and maybe a port, no path")
    if match["host"].startswith("["):
        try:
            ip_address(match["host"][1:-1])
        except ValueError:
            raise ValueError(f"{match['host']} is no address") from None
    port = match["port"]
    if port is not None and int(port) > 65_535:
        raise ValueError(f"{port} is no port")
    if port == _USUAL_PORTS[match["scheme"]]:
        raise ValueError(f"Browsers leave out :{port}, the port of {match['scheme']}")
    return text.lower()


def readable_by(origin: str, caller: Caller) -> Headers:
    """Returns the response headers that let a page of ``origin`` read the answer. Raises
    ACCESS_DENIED if the partner does not allow that origin."""
    allowed = caller.partner.allowed_origins
    if caller.key is not None or not allowed:
        return EVERY_PAGE
    if origin.casefold() not in {page.casefold() for page in allowed}:
        raise ServiceError(
            ErrorCode.ACCESS_DENIED, "This account does not allow pages of this origin."
        )
    named = (b"access-control-allow-origin", origin.encode("latin-1"))
    return [named, _EXPOSE, (b"vary", b"origin")]
