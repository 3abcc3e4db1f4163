"""HTTP to a JSON-RPC node: one long-lived client, nothing from the environment, no redirects."""

from __future__ import annotations

from itertools import count
from typing import Self

import httpx2

from swapdesk.certificates import certificates
from swapdesk.keepalive import CLIENT_SECONDS

ANSWER_LIMIT = 8 << 20
"""Bytes of an answer that are read."""


class NodeHttp:
    """Base of the clients that write JSON-RPC themselves. ``deadline`` bounds every call, in
    seconds; ``headers`` go with all of them."""

    def __init__(
        self,
        url: str,
        *,
        deadline: float,
        headers: dict[str, str],
        transport: httpx2.AsyncBaseTransport | None,
    ) -> None:
        self._url = url
        self._deadline = deadline
        self._ids = count(1)
        self._http = httpx2.AsyncClient(
            headers={
                "accept-encoding": "identity",
                "content-type": "application/json",
                **headers,
            },
            timeout=deadline,
            verify=certificates(httpx2.URL(url)),
            trust_env=False,
            follow_redirects=False,
            limits=httpx2.Limits(
                max_connections=64, max_keepalive_connections=16, keepalive_expiry=CLIENT_SECONDS
            ),
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()
