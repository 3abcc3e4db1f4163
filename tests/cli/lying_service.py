"""A service between the desk and the sandbox that changes what it passes on, frames of the order
stream as well as answers."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect

from patience import PATIENCE
from plain_http import PLAIN

Change = Callable[[str, str, Any], Any]
"""Method, path and decoded answer in, the answer to give out."""
Rewrite = Callable[[str, str, int, bytes], bytes]
"""Method, path, status and body in, the body to give out."""


@contextmanager
def lying_service(url: str, change: Change) -> Iterator[str]:
    """The address of a service that answers as the one at ``url`` does, changed."""

    def changed(method: str, path: str, status: int, body: bytes) -> bytes:
        if status != 200:
            return body
        return json.dumps(change(method, path, json.loads(body))).encode()

    with rewriting_service(url, changed) as lying:
        yield lying


@contextmanager
def rewriting_service(
    url: str, rewrite: Rewrite, frame: Callable[[bytes], bytes] = lambda frame: frame
) -> Iterator[str]:
    """As :func:`lying_service`, byte for byte: every body and every frame that a server sends. The
    time in the heads is that of this machine, however far the sandbox's was moved."""
    origin = url.removesuffix("/v2")

    def place_of(asked: HTTPConnection) -> str:
        path, query = asked.scope["raw_path"].decode(), asked.scope["query_string"].decode()
        return f"{path}?{query}" if query else path

    def passed(told: Any, *names: str) -> dict[str, str]:
        return {name: told[name] for name in names if name in told}

    async def pass_on(asked: Request) -> Response:
        place = place_of(asked)
        async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE, verify=PLAIN) as client:
            answer = await client.request(
                asked.method,
                origin + place,
                content=await asked.body(),
                headers=passed(asked.headers, "authorization", "partner-id", "content-type"),
            )
        content = rewrite(asked.method, place, answer.status_code, answer.content)
        kept = passed(answer.headers, "content-type", "x-request-id", "retry-after")
        return Response(content, answer.status_code, kept)

    async def stream(asked: WebSocket) -> None:
        there = origin.replace("http", "ws", 1) + place_of(asked)
        heads = passed(asked.headers, "authorization", "partner-id")
        async with connect(there, additional_headers=heads, max_size=None, proxy=None) as heard:
            await asked.accept()

            async def speak() -> None:
                async for said in asked.iter_text():
                    await heard.send(said)
                await heard.close()

            speaking = asyncio.create_task(speak())
            async for text in heard:
                await asked.send_text(frame(text.encode()).decode())
            speaking.cancel()

    routes = [
        WebSocketRoute("/{path:path}", stream),
        Route("/{path:path}", pass_on, methods=["GET", "POST"]),
    ]
    config = uvicorn.Config(
        Starlette(routes=routes), log_level="critical", timeout_graceful_shutdown=0, lifespan="off"
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/v2"
        finally:
            server.should_exit = True
            thread.join()
