"""Frames off and onto the pipes of the desk.

Reading has a thread of its own, into memory that is wiped: a frame may hold a pass phrase. So has
writing, so that a desk that reads nothing holds up no lock; what it has not read is bounded, and
beyond that nothing more of it is heard. The end of the pipe ends the process then and there,
whatever it was doing; what must survive that is on disk already, as after any kill.
"""

from __future__ import annotations

import asyncio
import io
import os
import queue
import threading
from collections.abc import Mapping
from typing import Any

from swapdesk.secret import SecretBytes
from swapdesk.wallet.protocol import (
    PREFIX_BYTES,
    Frame,
    FrameError,
    decode_frame,
    encode_frame,
    frame_sizes,
)

END_OF_DESK = 0
BROKEN_CONVERSATION = 3
"""Exit code after bytes that are no frame."""
MAX_HEARD = 64
"""Frames that were read and that nobody took yet."""
MAX_UNREAD = 1 << 20
"""Bytes that were said and that the desk has not read, beyond which nothing more is taken."""


class DeskPipe:
    """The conversation with the desk, from inside a running event loop."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = io.FileIO(source, "rb")
        self._sink = sink
        self._frames: asyncio.Queue[Frame] = asyncio.Queue()
        self._heard = threading.Semaphore(MAX_HEARD)
        self._said: queue.SimpleQueue[tuple[bytearray, bool]] = queue.SimpleQueue()
        self._unread = 0
        self._room = asyncio.Event()
        self._room.set()
        self._loop = asyncio.get_running_loop()

    def start(self) -> None:
        threading.Thread(target=self._read, name="desk", daemon=True).start()
        threading.Thread(target=self._write, name="answers", daemon=True).start()

    async def next(self) -> Frame:
        """The next frame, once the desk has read what was said."""
        await self._room.wait()
        frame = await self._frames.get()
        self._heard.release()
        return frame

    def say(
        self, head: Mapping[str, Any], secrets: Mapping[str, SecretBytes] | None = None
    ) -> None:
        """Have a frame written, whole and in its turn. Raises FrameError for one that is too
        large; then nothing is written."""
        frame = encode_frame(head, secrets)
        self._count(len(frame))
        self._said.put((frame, bool(secrets)))

    def _count(self, written: int) -> None:
        self._unread += written
        if self._unread > MAX_UNREAD:
            self._room.clear()
        else:
            self._room.set()

    def _write(self) -> None:
        try:
            while True:
                frame, wiped = self._said.get()
                with memoryview(frame) as whole:
                    rest = whole
                    while rest:
                        rest = rest[os.write(self._sink, rest) :]
                    rest.release()
                if wiped:
                    frame[:] = bytes(len(frame))
                self._loop.call_soon_threadsafe(self._count, -len(frame))
        except (OSError, RuntimeError):
            os._exit(END_OF_DESK)

    def _read(self) -> None:
        try:
            while True:
                self._heard.acquire()
                size, head = frame_sizes(self._exactly(PREFIX_BYTES))
                frame = decode_frame(self._exactly(size), head)
                self._loop.call_soon_threadsafe(self._frames.put_nowait, frame)
        except (EOFError, OSError, RuntimeError):
            os._exit(END_OF_DESK)
        except FrameError as error:
            os.write(2, f"FrameError: {error}\n".encode())
            os._exit(BROKEN_CONVERSATION)

    def _exactly(self, count: int) -> bytearray:
        held = bytearray(count)
        with memoryview(held) as view:
            at = 0
            while at < count:
                got = self._source.readinto(view[at:])
                if not got:
                    raise EOFError
                at += got
        return held
