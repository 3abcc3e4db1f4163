"""The certificates by which the servers of the API, of a sandbox and of the nodes are trusted: the
system's or, for example behind a proxy that decrypts connections, those of a file."""

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
    """Sets the file of trusted certificates for this process; an empty ``file`` means the system's
    certificates. Without a call, the file in ``SSL_CERT_FILE`` is used."""
    global _chosen
    _chosen = file


def authorities() -> str:
    """Returns the path of the file whose certificates are trusted; empty if the system's
    certificates are used."""
    return os.environ.get(VARIABLE, "") if _chosen is None else _chosen


def certificates(url: httpx2.URL) -> ssl.SSLContext | bool:
    """Returns an HTTP client's option ``verify`` for servers under ``url``: True for the system's
    certificates, or a context that trusts the chosen file. Raises OSError, with the file's name, if
    that file is unusable."""
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
