"""How many seconds an idle HTTP connection is kept for the next request, by the client and by the
server. The client must close first: if the server closed just when a request arrives, the request
would get no answer, and after an unanswered create it is unknown whether an order exists."""

from __future__ import annotations

from typing import Final

CLIENT_SECONDS: Final = 4.0
"""Seconds for which clients keep an idle connection, below common servers' five."""
SERVER_SECONDS: Final = 75
"""Seconds for which servers keep an idle connection, far above ``CLIENT_SECONDS``."""
