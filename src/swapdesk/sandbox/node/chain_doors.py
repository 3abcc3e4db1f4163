"""The doors of all embedded chains as one application."""

from __future__ import annotations

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from swapdesk.sandbox.node.evm.door import Door


class ChainDoors:
    """Serves what the paths of its doors say; anything else is not found."""

    def __init__(self, *doors: Door) -> None:
        self._doors = {path: door for door in doors for path in door.paths}
        self._roots = frozenset(path.split("/")[1] for path in self._doors)

    def serves(self, path: str) -> bool:
        """Whether a path is meant for a chain, known or not."""
        return path.startswith("/") and path.split("/")[1] in self._roots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        door = self._doors.get(scope["path"])
        if door is None:
            answer = Response("There is no such chain.", status_code=404, media_type="text/plain")
            await answer(scope, receive, send)
            return
        await door(scope, receive, send)
