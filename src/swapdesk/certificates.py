"""The certificates by which servers are trusted: the API, a sandbox and the nodes.

They are the certificates of the system, or those of one file in their place, such as a company's
own certificates behind a proxy that decrypts connections. A process uses one such file for all
servers.
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
