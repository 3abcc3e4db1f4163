"""The certificates by which the servers of the API, of a sandbox and of the nodes are trusted.

By default, these are the system's certificates. If a file is set, its certificates are used
instead, for all servers. Such a file may hold a company's own certificates, which are needed behind
a proxy that decrypts connections.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

    import httpx2

VARIABLE = "SSL_CERT_FILE"
_chosen: str | None = None


def trust(file: str) -> None:
    """Sets the file of trusted certificates for this process; empty for the system's. Until then,
    ``SSL_CERT_FILE`` names it."""
    global _chosen
    _chosen = file


def authorities() -> str:
    """Returns the path of the file whose certificates are trusted; empty if the system's
    certificates are used."""
    return os.environ.get(VARIABLE, "") if _chosen is None else _chosen


def certificates(url: httpx2.URL) -> ssl.SSLContext | bool:
    """Returns an HTTP client's option ``verify`` for servers under ``url``: True for the system's
    certificates, or a context with those of the set file. Raises OSError, with the file's name, if
    it has none or cannot be read."""
    import ssl

    if url.scheme != "https":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    file = authorities()
    if not file:
        return True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cafile=file)
    except ssl.SSLError:
        raise OSError(errno.EINVAL, "it holds no certificate", file) from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, file) from None
    return context
