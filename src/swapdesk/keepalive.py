"""How many seconds an idle HTTP connection is kept for the next request, at the client and at the
server.

The client closes first. If the server closed at the moment of a request, the request would get no
answer, and after an unanswered create it is unknown whether an order exists.
"""

from __future__ import annotations

from typing import Final

CLIENT_SECONDS: Final = 4.0
"""Seconds for clients; below the five seconds after which uvicorn and Node close by default."""
SERVER_SECONDS: Final = 75
"""Seconds for this program's servers. They keep connections longer than the clients above, because
other clients may keep a connection longer, too."""
