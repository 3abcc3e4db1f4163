"""Who may talk to the sandbox: this machine, and with the right token to node and control."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from swapdesk.chain.rpc.ledger import TOKEN_HEADER


def misled(headers: Mapping[str, str], hosts: frozenset[str]) -> tuple[int, str] | None:
    """Status and reason to refuse a request that another site sent here, or None.

    A browser led here by another site's name carries that name in ``Host`` and its own
    origin in ``Origin``; neither passes. ``hosts`` are names served besides the loopback ones.
    """
    if not _served(f"//{headers.get('host', '')}", hosts):
        return 421, "This host name is not served here."
    origin = headers.get("origin")
    if origin is not None and not _served(origin, hosts):
        return 403, "Requests of other origins are not served."
    return None


def refusal(
    headers: Mapping[str, str], token: str, hosts: frozenset[str]
) -> tuple[int, str] | None:
    """Status and reason to refuse a request with that is misled or lacks the token, or None."""
    refused = misled(headers, hosts)
    if refused is not None:
        return refused
    given = headers.get(TOKEN_HEADER, "").encode()
    if not hmac.compare_digest(given, token.encode()):
        return 401, f"The header {TOKEN_HEADER} is missing or wrong."
    return None


def _served(url: str, hosts: frozenset[str]) -> bool:
    try:
        name = urlsplit(url).hostname or ""
        if name == "localhost" or name in hosts:
            return True
        address = ip_address(name)
    except ValueError:
        return False
    # Who listens on every address has none to be named by; an address is no name to rebind.
    return address.is_loopback or bool({"0.0.0.0", "::"} & hosts)
