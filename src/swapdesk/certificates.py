"""Which certificates a server is trusted by: of the API, a sandbox or a node.

They are those of the system, or those of one file in their place: behind a proxy that opens
connections, the company's own. A process has one such file, whichever server it asks.
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
    """Trusts servers by the certificates of a file from now on; empty: by the system's. Until it is
    called the environment decides."""
    global _chosen
    _chosen = file


def authorities() -> str:
    """The file whose certificates are trusted; empty for those of the system."""
    return os.environ.get(VARIABLE, "") if _chosen is None else _chosen


def certificates(url: httpx2.URL) -> ssl.SSLContext | bool:
    """Returns what servers under ``url`` are trusted by. For plain HTTP a context without any,
    which refuses every certificate, so that the authorities (30 ms, 2 MiB) are not read. Raises
    OSError naming a file that holds no certificate."""
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
