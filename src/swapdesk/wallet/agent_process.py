"""The wallet agent's process: started, asked in frames, heard, and ended.

Start it from the main thread's event loop: the system ties the child's life to the thread that
made it. What is asked may be given up; what the agent then still does it writes down itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from swapdesk.secret import Secret, SecretBytes
from swapdesk.wallet.accounts import SIGNING_PACKAGES
from swapdesk.wallet.encoding import MessageError, from_json
from swapdesk.wallet.protocol import (
    PREFIX_BYTES,
    VERSION,
    AgentGone,
    AgentMissing,
    AgentOperation,
    Event,
    Frame,
    FrameError,
    RefusalCode,
    Refused,
    decode_frame,
    encode_frame,
    frame_sizes,
    refusal_of,
)
from swapdesk.wallet.review import RuleFinding

AGENT = ("-I", "-m", "swapdesk.agent")
"""Isolated: no PYTHONPATH, no user site, no working directory."""

START_SECONDS = 20.0
STOP_SECONDS = 2.0
_SAID_LINES = 20
_COULD_BE_SECRET = re.compile(r"[0-9A-Za-z+/=_-]{20,}")


class AgentProcess:
    """One agent. ``on_locked`` is called when it drops the keys by itself."""

    def __init__(self, process: asyncio.subprocess.Process, on_locked: Callable[[], None]) -> None:
        self._process = process
        self._on_locked = on_locked
        self._waiting: dict[int, asyncio.Future[Frame]] = {}
        self._last_id = 0
        self._ready: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._said: deque[str] = deque(maxlen=_SAID_LINES)
        self._gone: AgentGone | None = None
        self._hearing = asyncio.create_task(self._hear(), name="wallet agent")
        self._draining = asyncio.create_task(self._drain(), name="wallet agent's complaints")

    @classmethod
    async def start(
        cls, on_locked: Callable[[], None], program: Sequence[str] = AGENT
    ) -> AgentProcess:
        """A process that says it is ready. Raises AgentMissing when none can be started."""
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("the wallet agent is started from the main thread")
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *program,
                str(os.getpid()),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                cwd="/",
                env={"LANG": "C.UTF-8"},
            )
        except OSError as error:
            raise AgentMissing(f"the wallet agent could not be started: {error}") from None
        agent = cls(process, on_locked)
        try:
            await agent._is_ready()
        except BaseException:
            await agent.close()
            raise
        return agent

    async def _is_ready(self) -> None:
        try:
            async with asyncio.timeout(START_SECONDS):
                ready = await asyncio.shield(self._ready)
        except TimeoutError:
            raise AgentMissing("the wallet agent did not become ready") from None
        except AgentGone as gone:
            raise AgentMissing(_why_missing(gone)) from None
        if ready.head.get("version") != VERSION:
            raise AgentMissing("the wallet agent is of another version of swapdesk")

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def gone(self) -> AgentGone | None:
        """Why there is no agent any more; None while there is one."""
        return self._gone

    async def close(self) -> None:
        """End the agent; its keys are gone with it."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await asyncio.gather(self._hearing, self._draining, return_exceptions=True)

    # The pipes

    async def ask(
        self,
        operation: AgentOperation,
        arguments: Mapping[str, Any] | None = None,
        **secrets: Secret | None,
    ) -> Any:
        """What the agent did. Raises AgentGone when the process ended, Refused when it says no."""
        frame = await self.frame(operation, arguments or {}, **secrets)
        return frame.head["done"]

    async def frame(
        self, operation: AgentOperation, arguments: Mapping[str, Any], **secrets: Secret | None
    ) -> Frame:
        """The same with the secrets of the answer, which the caller wipes."""
        if self._gone is not None:
            raise self._gone
        self._last_id += 1
        number = self._last_id
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            await self._say({"id": number, "do": operation, **arguments}, secrets)
            frame = await answer
        finally:
            self._waiting.pop(number, None)
        refused = frame.head.get("refused")
        if refused is not None:
            raise _refusal(refused)
        if "done" not in frame.head:
            raise AgentGone("the wallet agent answered something else than it should")
        return frame

    async def _say(self, head: Mapping[str, Any], secrets: Mapping[str, Secret | None]) -> None:
        held = {name: SecretBytes.of(one) for name, one in secrets.items() if one is not None}
        try:
            frame = encode_frame(head, held)
        except FrameError as error:
            for one in held.values():
                one.wipe()
            raise Refused(RefusalCode.BAD_REQUEST, str(error)) from None
        try:
            stdin = self._process.stdin
            if stdin is not None:
                stdin.write(frame)
        finally:
            frame[:] = bytes(len(frame))
            for one in held.values():
                one.wipe()
        if stdin is not None:
            with contextlib.suppress(ConnectionError):
                await stdin.drain()

    async def _hear(self) -> None:
        stdout = self._process.stdout
        try:
            while stdout is not None:
                size, head = frame_sizes(await stdout.readexactly(PREFIX_BYTES))
                body = bytearray(await stdout.readexactly(size))
                self._heard(decode_frame(body, head))
                # Whoever asked takes the answer first: what it says was true before the next event.
                await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, ConnectionError):
            words = None
        except Exception as error:  # noqa: BLE001 (unread, the rest of the pipe means nothing)
            said = str(error) if isinstance(error, FrameError) else type(error).__name__
            words = f"the wallet agent cannot be understood: {said}"
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        code = await self._process.wait()
        await asyncio.wait([self._draining], timeout=STOP_SECONDS)
        self._end(words or _how_it_ended(code))

    def _heard(self, frame: Frame) -> None:
        event = frame.head.get("event")
        if event == Event.READY:
            if not self._ready.done():
                self._ready.set_result(frame)
        elif event == Event.LOCKED:
            self._on_locked()
        else:
            # Whoever asked may have gone; then nobody waits for the answer.
            waiting = self._waiting.get(frame.head.get("id", 0))
            if waiting is not None and not waiting.done():
                waiting.set_result(frame)

    def _end(self, words: str) -> None:
        self._gone = AgentGone(words, tuple(self._said))
        for future in (self._ready, *self._waiting.values()):
            if not future.done():
                future.set_exception(self._gone)
        # Nobody may be waiting for the first word any more.
        self._ready.exception()

    async def _drain(self) -> None:
        stderr = self._process.stderr
        while stderr is not None and (chunk := await stderr.read(4096)):
            for line in chunk.decode("ascii", "replace").splitlines():
                self._said.append(_COULD_BE_SECRET.sub("***", line[:200]))


def _refusal(refused: Any) -> Exception:
    try:
        findings = tuple(from_json(RuleFinding, one) for one in refused["findings"])
        return refusal_of(str(refused["code"]), str(refused["words"]), findings)
    except (MessageError, KeyError, TypeError):
        return AgentGone("the wallet agent answered something else than it should")


def _how_it_ended(code: int) -> str:
    how = f"was killed (signal {-code})" if code < 0 else f"has ended (code {code})"
    return f"the wallet agent {how}: its keys are gone with it; unlock again"


def _why_missing(gone: AgentGone) -> str:
    missing = [name for name in SIGNING_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        return f"signing needs {', '.join(missing)}: install swapdesk[wallet]"
    said = f" ({gone.said[-1]})" if gone.said else ""
    return f"the wallet agent could not start: {gone.words}{said}"
