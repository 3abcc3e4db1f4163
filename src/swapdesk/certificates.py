"""Which certificates a server is trusted by: of the API, a sandbox or a node."""

from __future__ import annotations

import ssl

import httpx2


def certificates(url: httpx2.URL) -> ssl.SSLContext | bool:
    """What servers under ``url`` are trusted by: for plain HTTP nothing, so that the authorities
    (30 ms, 2 MiB) are not read; a context without any refuses every certificate."""
    return True if url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
