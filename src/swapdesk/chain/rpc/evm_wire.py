"""JSON-RPC to an EVM node over web3's provider, with nothing done behind one's back.

web3's retries are off: every question is asked once, within a deadline. web3 is imported when the
first one is, in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from swapdesk.chain.rpc.evm_answers import fields, octets
from swapdesk.chain.rpc.evm_errors import EvmRefused, EvmUncertain, EvmUnreachable

if TYPE_CHECKING:
    from web3 import AsyncHTTPProvider

BATCH_LIMIT = 100
"""Reads that go out in one request."""


@dataclass(frozen=True)
class Request:
    """One read of a batch, as JSON-RPC names it."""

    method: str
    params: tuple[Any, ...] = ()


class EvmWire:
    """The node at ``url``. ``deadline`` bounds every call, in seconds.

    Every method raises EvmUnreachable, EvmUncertain or EvmRefused, and asks once.
    """

    def __init__(self, url: str, *, deadline: float = 5.0) -> None:
        self.url = url
        self._deadline = deadline
        self._provider: AsyncHTTPProvider | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        provider, self._provider = self._provider, None
        if provider is not None:
            await provider.disconnect()

    async def ask(self, method: str, *params: Any) -> Any:
        """The result of one method as plain JSON values."""
        provider = await self._opened()
        # Only now: web3 comes in a thread, and an import beside it finds it half there.
        from web3.types import RPCEndpoint

        answer = await self._within(provider.make_request(RPCEndpoint(method), list(params)))
        return _result(answer)

    async def batch(self, requests: Sequence[Request]) -> list[Any]:
        """Results in the order of the requests; a refused one is the EvmRefused in its place."""
        results: list[Any] = []
        for start in range(0, len(requests), BATCH_LIMIT):
            results += await self._batch(requests[start : start + BATCH_LIMIT])
        return results

    async def _batch(self, requests: Sequence[Request]) -> list[Any]:
        provider = await self._opened()
        pairs: Any = [(each.method, list(each.params)) for each in requests]
        answers = await self._within(provider.make_batch_request(pairs))
        if isinstance(answers, Mapping):
            _result(answers)
        if not isinstance(answers, list) or len(answers) != len(requests):
            raise EvmUncertain("the node answered another number of reads")
        results: list[Any] = []
        for answer in answers:
            try:
                results.append(_result(answer))
            except EvmRefused as refused:
                results.append(refused)
        return results

    async def _within(self, call: Any) -> Any:
        from aiohttp import ClientConnectorError, ClientError, ConnectionTimeoutError
        from web3.exceptions import Web3Exception

        try:
            async with asyncio.timeout(self._deadline):
                return await call
        except (ClientConnectorError, ConnectionTimeoutError) as error:
            raise EvmUnreachable(f"the node cannot be reached: {type(error).__name__}") from error
        except (ClientError, OSError, TimeoutError) as error:
            raise EvmUncertain(f"the node gave no answer: {type(error).__name__}") from error
        except (Web3Exception, ValueError, KeyError, TypeError) as error:
            raise EvmUncertain(f"the node answered no JSON-RPC: {type(error).__name__}") from error

    async def _opened(self) -> AsyncHTTPProvider:
        async with self._opening:
            if self._provider is None:
                self._provider = await asyncio.to_thread(_provider, self.url, self._deadline)
            return self._provider


def _provider(url: str, deadline: float) -> AsyncHTTPProvider:
    from aiohttp import ClientTimeout
    from web3 import AsyncHTTPProvider

    timeout = ClientTimeout(total=deadline)
    return AsyncHTTPProvider(
        url,
        request_kwargs={"timeout": timeout, "allow_redirects": False},
        # By default web3 sends a transaction up to five times.
        exception_retry_configuration=None,
    )


def _result(answer: object) -> Any:
    document = fields(answer)
    refusal = document.get("error")
    if refusal is not None:
        told = fields(refusal)
        code, data = told.get("code"), told.get("data")
        if not isinstance(code, int) or isinstance(code, bool):
            raise EvmUncertain("the node answered an error without a code")
        try:
            raw = octets(data) if isinstance(data, str) else b""
        except EvmUncertain:
            raw = b""
        raise EvmRefused(code, str(told.get("message", "")), raw)
    if "result" not in document:
        raise EvmUncertain("the node answered without a result")
    return document["result"]
