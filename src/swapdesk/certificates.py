"""The certificates by which the servers of the API, of a sandbox and of the nodes are trusted.

These are the system's certificates. If a file is set, its certificates are used instead, for all
servers of this process. Such a file may hold a company's own certificates, which are needed behind
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
    """Sets the file of certificates by which servers are trusted from now on. If ``file`` is empty,
    the system's certificates are used. Before the first call, the environment variable
    ``SSL_CERT_FILE`` names the file."""
    global _chosen
    _chosen = file


def authorities() -> str:
    """Returns the path of the file whose certificates are trusted; empty if the system's
    certificates are used."""
    return os.environ.get(VARIABLE, "") if _chosen is None else _chosen


def certificates(url: httpx2.URL) -> ssl.SSLContext | bool:
    """Returns how a client checks the certificates of servers under ``url``: with a context, or
    with the system's certificates if the value is True. Plain HTTP needs no certificates, so its
    context has none; loading the system's certificates takes 30 ms and 2 MiB. Raises OSError naming
    the file if the file holds no certificate."""
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
