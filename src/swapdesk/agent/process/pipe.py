"""Frames off and onto the pipes of the desk.

Reading has a thread of its own, into memory that is wiped: a frame may hold a pass phrase. The
end of the pipe ends the process then and there, whatever it was doing; what must survive that
is on disk already, as after any kill.
"""

from __future__ import annotations

import asyncio
import io
import os
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


class DeskPipe:
    """The conversation with the desk, from inside a running event loop."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = io.FileIO(source, "rb")
        self._sink = sink
        self._frames: asyncio.Queue[Frame] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._writing = threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self._read, name="desk", daemon=True).start()

    async def next(self) -> Frame:
        return await self._frames.get()

    def say(
        self, head: Mapping[str, Any], secrets: Mapping[str, SecretBytes] | None = None
    ) -> None:
        """Write a frame whole. The desk reads all the time, so this does not wait for long."""
        frame = encode_frame(head, secrets)
        rest = memoryview(frame)
        try:
            with self._writing:
                while rest:
                    rest = rest[os.write(self._sink, rest) :]
        except OSError:
            os._exit(END_OF_DESK)
        finally:
            rest.release()
            if secrets:
                frame[:] = bytes(len(frame))

    def _read(self) -> None:
        try:
            while True:
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
