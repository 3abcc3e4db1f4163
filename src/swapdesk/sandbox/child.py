"""A child process of the supervisor: started, heard, started again, ended."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any

from swapdesk.clock import Clock

START_SECONDS = 20.0
STOP_SECONDS = 2.0
_BACK_OFF = (0.1, 0.25, 0.5, 1.0, 2.0)
_STEADY_SECONDS = 10.0
"""After this long a child counts as well, and the back-off begins anew."""

logger = logging.getLogger(__name__)


class ChildRefused(Exception):
    """The child said why it will not run; starting it again would not help."""


class ChildSilent(Exception):
    """The child did not become ready."""


class Child:
    """Runs ``python -m module``. ``orders`` is asked anew for every start."""

    def __init__(
        self,
        module: str,
        orders: Callable[[], dict[str, Any]],
        inherited: Sequence[int],
        clock: Clock,
    ) -> None:
        self._module = module
        self._orders = orders
        self._inherited = tuple(inherited)
        self._clock = clock
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def start(self) -> dict[str, Any]:
        """Start and wait until it is ready. Raises ChildRefused and ChildSilent."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            self._module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=self._inherited,
            # Keys typed at the starter's terminal are for the starter alone.
            start_new_session=True,
        )
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise ChildSilent(f"{self._module} has no pipes")
        try:
            stdin.write(json.dumps(self._orders()).encode() + b"\n")
            await stdin.drain()
            line = await asyncio.wait_for(stdout.readline(), START_SECONDS)
        except (TimeoutError, ConnectionError) as error:
            await self.stop()
            raise ChildSilent(f"{self._module} did not become ready: {error!r}") from error
        if not line:
            code = await self._process.wait()
            raise ChildSilent(f"{self._module} ended with {code} before it was ready")
        said: dict[str, Any] = json.loads(line)
        if "refused" in said:
            await self.stop()
            raise ChildRefused(str(said["refused"]))
        return said

    async def keep(self) -> None:
        """Start it again whenever it dies, until cancelled. Raises ChildRefused."""
        failures = 0
        since = self._clock.monotonic()
        while True:
            if self._process is not None:
                code = await self._process.wait()
                logger.warning("%s ended with %s and is started again", self._module, code)
            if self._clock.monotonic() - since > _STEADY_SECONDS:
                failures = 0
            await self._clock.sleep(_BACK_OFF[min(failures, len(_BACK_OFF) - 1)])
            failures += 1
            since = self._clock.monotonic()
            try:
                await self.start()
            except ChildSilent as silent:
                logger.error("%s", silent)

    async def stop(self) -> None:
        """Close its lifeline, wait, and kill what does not listen."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
