"""The service that answers the desk's requests. Every request is a task of its own; signatures are
made one at a time.

The pipe carries frames. A separate thread reads them into memory that is wiped, because a frame may
hold a pass phrase. Another thread writes, so that a desk that reads nothing blocks no lock. The
number of unread bytes is limited; beyond the limit the agent takes no further request. If the pipe
ends, the process ends immediately; everything that must survive is on disk by then.
"""

from __future__ import annotations

import asyncio
import io
import os
import queue
import threading
from collections.abc import Mapping
from typing import Any, get_args

from swapdesk.agent.keys.key_file import MAX_N
from swapdesk.agent.process import handlers
from swapdesk.agent.process.confinement import place_of
from swapdesk.agent.process.request import Answer
from swapdesk.agent.process.wallet_session import Handler, OpenedWallet
from swapdesk.paths import UnsafePlace
from swapdesk.secret import SecretBytes
from swapdesk.wallet.accounts import WalletPlace
from swapdesk.wallet.protocol import (
    PREFIX_BYTES,
    VERSION,
    AgentOperation,
    Frame,
    FrameError,
    MessageError,
    Refused,
    decode_frame,
    encode_frame,
    frame_sizes,
    from_json,
    to_json,
)

END_OF_DESK = 0
BROKEN_CONVERSATION = 3
"""The exit code after bytes that are not a valid frame."""
MAX_HEARD = 64
"""The most frames that are read ahead of being handled."""
MAX_UNREAD = 1 << 20
"""The most bytes of answers that the desk may leave unread. Beyond this the agent takes no further
request."""


class DeskPipe:
    """The pipe to the desk, made of two file descriptors. Create it inside a running event loop."""

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
        """Returns the next frame from the desk. Waits while the desk has too many bytes of earlier
        answers unread."""
        await self._room.wait()
        frame = await self._frames.get()
        self._heard.release()
        return frame

    def say(
        self, head: Mapping[str, Any], secrets: Mapping[str, SecretBytes] | None = None
    ) -> None:
        """Queues a frame for the desk. Raises FrameError, and queues nothing, if the frame is too
        large."""
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


MAX_WAITING = 256

OPERATIONS: dict[AgentOperation, Handler] = {
    "accounts": handlers.accounts,
    "unlock": handlers.unlock,
    "lock": handlers.lock,
    "create": handlers.create,
    "preview": handlers.preview,
    "import": handlers.import_,
    "export": handlers.export,
    "rename": handlers.rename,
    "clock": handlers.set_clock,
    "transactions": handlers.transactions,
    "policy": handlers.policy,
    "set_policy": handlers.set_policy,
}
"""The handlers of those requests to an open wallet that need no chain library."""


async def answered(opened: OpenedWallet, operation: AgentOperation, frame: Frame) -> Answer:
    """Returns the answer to a request for any operation except ``open``. ``AgentService`` turns any
    exception raised here into a refusal."""
    handler = OPERATIONS.get(operation)
    if handler is None:
        await opened.loaded()
        from swapdesk.agent.process.chain_handlers import CHAIN_OPERATIONS

        handler = CHAIN_OPERATIONS[operation]
    return await handler(opened, frame)


class AgentService:
    """Answers the requests of one desk until the pipe to it ends. ``cost`` is the scrypt parameter
    n for new key files."""

    def __init__(self, pipe: DeskPipe, *, cost: int = MAX_N) -> None:
        self._pipe = pipe
        self._cost = cost
        self._opened: OpenedWallet | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        self._pipe.start()
        self._pipe.say({"event": "ready", "version": VERSION, "pid": os.getpid()})
        while True:
            frame = await self._pipe.next()
            if len(self._tasks) >= MAX_WAITING:
                self._refuse(frame, Refused("bad_request", "too many requests at once"))
                continue
            task = asyncio.create_task(self._answer(frame))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, frame: Frame) -> None:
        try:
            if type(frame.head.get("id")) is not int:
                frame.head["id"] = None
                raise Refused("bad_request", "a request is known by a whole number")
            done, secrets = await self._done(frame)
        except Refused as refusal:
            self._refuse(frame, refusal)
        except UnsafePlace as unsafe:
            self._refuse(frame, Refused("unsafe_files", str(unsafe)))
        except MessageError as error:
            self._refuse(frame, Refused("bad_request", str(error)))
        except Exception as error:  # noqa: BLE001  a defect in one request ends no other
            words = f"a defect of the wallet agent ({type(error).__name__}); nothing was signed"
            os.write(2, f"{place_of(error)}\n".encode())
            self._refuse(frame, Refused("defect", words))
        else:
            try:
                self._pipe.say({"id": frame.head.get("id"), "done": done}, secrets)
            except FrameError:
                words = "the answer is larger than the wallet agent can tell"
                self._refuse(frame, Refused("defect", words))
            for secret in secrets.values():
                secret.wipe()
        finally:
            for secret in frame.secrets.values():
                secret.wipe()

    async def _done(self, frame: Frame) -> Answer:
        operation: Any = frame.head.get("do")
        opened = self._opened
        if operation not in get_args(AgentOperation):
            raise Refused("bad_request", "an operation that is not known here")
        if operation == "open":
            return self._open(frame)
        if opened is None:
            raise Refused("bad_request", "no wallet was opened")
        opened.idle.used()
        return await answered(opened, operation, frame)

    def _open(self, frame: Frame) -> Answer:
        if self._opened is not None:
            raise Refused("bad_request", "a wallet is open already")
        place = from_json(WalletPlace, frame.head.get("place"))
        self._opened = OpenedWallet(place, self._say_locked, cost=self._cost)
        return to_json(self._opened.told()), {}

    def _say_locked(self) -> None:
        self._pipe.say({"event": "locked"})

    def _refuse(self, frame: Frame, refusal: Refused) -> None:
        answer = {
            "code": refusal.code,
            "words": refusal.words,
            "findings": [to_json(finding) for finding in refusal.findings],
        }
        self._pipe.say({"id": frame.head.get("id"), "refused": answer})
