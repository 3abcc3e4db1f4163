"""Frames of a stream that are kept back for a while, so that they arrive out of order."""

from __future__ import annotations

import asyncio

from starlette.types import Message, Send

from swapdesk.clock import Clock


class HeldFrames:
    """Passes frames on and keeps at most one back, which follows the next one."""

    def __init__(self, send: Send, clock: Clock) -> None:
        self._send = send
        self._clock = clock
        self._kept: Message | None = None
        self._timer: asyncio.Task[None] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def send(self, message: Message) -> None:
        """This frame, and after it the one that was kept; nothing follows a close."""
        async with self._one_at_a_time:
            kept, self._kept = self._kept, None
            frames = [message] if kept is None else [message, kept]
            if message["type"] == "websocket.close":
                frames.reverse()
            for frame in frames:
                await self._send(frame)

    async def hold(self, message: Message, seconds: float) -> None:
        """Keep a frame back for so long at most; one kept before goes out."""
        async with self._one_at_a_time:
            kept, self._kept = self._kept, message
            if kept is not None:
                await self._send(kept)
        self.forget_timer()
        self._timer = asyncio.create_task(self._release(seconds))

    def forget(self) -> None:
        """The connection has ended."""
        self._kept = None
        self.forget_timer()

    def forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _release(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        async with self._one_at_a_time:
            kept, self._kept = self._kept, None
            if kept is not None:
                await self._send(kept)
