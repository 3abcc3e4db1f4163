"""How long a connection of HTTP is kept for the next request, at either end.

The end that asks lets go first. A request on a connection that the other end closes at the same
moment gets no answer, and of a create that got none nobody knows whether there is an order.
"""

from __future__ import annotations

from typing import Final

CLIENT_SECONDS: Final = 4.0
"""Below the five seconds after which uvicorn and Node close by default."""
SERVER_SECONDS: Final = 75
"""Of our own servers; others ask them with clients that keep a connection longer than ours."""
