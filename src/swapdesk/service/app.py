"""The service as an ASGI application: the surface, and what runs in the background."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

from swapdesk.clock import Clock
from swapdesk.service.parts import Running, ServiceParts
from swapdesk.service.surface import Surface

_RESTART_SECONDS = 1.0

logger = logging.getLogger(__name__)


class _Application(Starlette):
    """The framework's lifespan around the surface, which answers every failure by itself.

    No middleware of the framework stands between: it would only catch what never comes.
    """

    def __init__(self, surface: ASGIApp, lifespan: Lifespan[Starlette]) -> None:
        super().__init__(lifespan=lifespan)
        self._surface = surface

    def build_middleware_stack(self) -> ASGIApp:
        surface, router = self._surface, self.router

        async def stack(scope: Scope, receive: Receive, send: Send) -> None:
            await (router if scope["type"] == "lifespan" else surface)(scope, receive, send)

        return stack


async def _kept_running(part: Running, name: str, clock: Clock) -> None:
    """Run a background part; one that breaks is logged and started again."""
    while True:
        try:
            await part.run()
            return
        except Exception:
            logger.exception("%s broke and is started again", name)
            await clock.sleep(_RESTART_SECONDS)


def build_service(parts: ServiceParts) -> Starlette:
    """The application; its lifespan runs what works in the background, and ends with a flush."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        background: dict[str, Running] = {
            "worker": parts.worker,
            "hub": parts.hub,
            "bundles": parts.bundles,
            "request counts": parts.requests,
            "rate windows": parts.rates,
        }
        await parts.rates.restore()
        await parts.scans.restore()
        tasks = [
            asyncio.create_task(_kept_running(part, name, parts.clock), name=name)
            for name, part in background.items()
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await parts.requests.flush()
            await parts.rates.flush()

    return _Application(Surface(parts), lifespan)
