"""Who may talk to the node and to the control: this machine, with the right token."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from urllib.parse import urlsplit

from swapdesk.chain.rpc.methods import TOKEN_HEADER

_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})


def refusal(
    headers: Mapping[str, str], token: str, hosts: frozenset[str]
) -> tuple[int, str] | None:
    """Status and reason to refuse a request with, or None.

    A browser led here by another site's name carries that name in ``Host`` and its own
    origin in ``Origin``; neither passes.
    """
    if _host(headers.get("host", "")) not in _LOCAL | hosts:
        return 421, "This host name is not served here."
    origin = headers.get("origin")
    if origin is not None and (urlsplit(origin).hostname or "") not in _LOCAL | hosts:
        return 403, "Requests of other origins are not served."
    given = headers.get(TOKEN_HEADER, "").encode()
    if not hmac.compare_digest(given, token.encode()):
        return 401, f"The header {TOKEN_HEADER} is missing or wrong."
    return None


def _host(header: str) -> str:
    return urlsplit(f"//{header}").hostname or ""
