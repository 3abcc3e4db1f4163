"""The HTTP endpoint of the embedded chains, ``POST /evm/{shortName}`` and ``POST /solana``:
JSON-RPC for programs on this machine, without a token. Pages of other sites are refused."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import msgspec
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from swapdesk.chain.rpc.ledger import RpcCode
from swapdesk.sandbox.faults import NODE_DOWN, ActiveFaults
from swapdesk.sandbox.http_server import CUT, misled
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.solana.terms import CHAIN as SOLANA
from swapdesk.sandbox.node.solana.terms import PATH as SOLANA_PATH
from swapdesk.sandbox.tables import EVM_CHAINS
from swapdesk.wire.encoding.codec import decode_json

PATHS = {**{f"/evm/{name}": name for name in EVM_CHAINS}, SOLANA_PATH: SOLANA}
BODY_LIMIT = 1 << 20
MOST_IN_BATCH = 100
ANSWER_LIMIT = 8 << 20
SHALLOW = 500
"""Largest number of brackets of a document that is parsed without checking its nesting."""

logger = logging.getLogger(__name__)

Call = Callable[[str, Any, Any], Awaitable[Any]]
"""A function that calls a JSON-RPC method: (chain, method, params) -> result. Raises Problem."""


class Door:
    """The ASGI application for HTTP requests to the embedded chains; ``evm`` answers for EVM
    chains, ``solana`` for Solana."""

    def __init__(self, faults: ActiveFaults, evm: Call, solana: Call) -> None:
        self._faults = faults
        self._evm = evm
        self._solana = solana

    def serves(self, path: str) -> bool:
        """Returns True if the path belongs to an embedded chain. The chain's name is not
        checked."""
        return path.startswith("/evm/") or path == SOLANA_PATH

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            response = await self._answer(Request(scope, receive))
        except ClientDisconnect:
            return
        if response is not None:
            await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response | None:
        refused = misled(Headers(scope=request.scope), frozenset())
        if refused is not None:
            return Response(refused[1], status_code=refused[0], media_type="text/plain")
        chain = PATHS.get(request.url.path)
        if chain is None:
            return Response("There is no such chain.", status_code=404, media_type="text/plain")
        if request.method != "POST":
            return Response(status_code=405, headers={"allow": "POST"})
        if self._faults.meets(chain, NODE_DOWN):
            cut = request.scope.get("state", {}).get(CUT)
            if cut is None:
                return Response(status_code=503)
            cut()
            return None
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > BODY_LIMIT:
                return Response("content length too large", status_code=413)
        return Response(await self._document(chain, bytes(body)), media_type="application/json")

    async def _document(self, chain: str, body: bytes) -> bytes:
        try:
            asked = _read(body)
        except ValueError:
            return _failed(None, Problem("parse error", RpcCode.BAD_JSON))
        if not isinstance(asked, list):
            return await self._one(chain, asked) or b""
        if not asked:
            return _failed(None, Problem("empty batch", RpcCode.BAD_REQUEST))
        if len(asked) > MOST_IN_BATCH:
            return _failed(None, Problem("batch too large", RpcCode.BAD_REQUEST))
        answers: list[bytes] = []
        size = 0
        for request in asked:
            if size > ANSWER_LIMIT:
                answer = _failed(_id_of(request), Problem("response too large", RpcCode.LIMIT))
            else:
                answer = await self._one(chain, request)
            size += len(answer)
            answers.append(answer)
        joined = b",".join(answer for answer in answers if answer)
        return b"[" + joined + b"]" if joined else b""

    async def _one(self, chain: str, asked: Any) -> bytes:
        number = _id_of(asked)
        if (
            not isinstance(asked, dict)
            or asked.get("jsonrpc") != "2.0"
            or not isinstance(asked.get("method"), str)
        ):
            return _failed(number, Problem("invalid request", RpcCode.BAD_REQUEST))
        try:
            call = self._solana if chain == SOLANA else self._evm
            result = await call(chain, asked["method"], asked.get("params"))
        except Problem as problem:
            answer = _failed(number, problem)
        except Exception:
            # The boundary of a call: logged whole, and the caller learns that it is our fault.
            logger.exception("%s of %s failed", asked["method"][:64], chain)
            answer = _failed(number, Problem("internal error", RpcCode.INTERNAL))
        else:
            answer = msgspec.json.encode({"jsonrpc": "2.0", "id": number, "result": result})
        return answer if "id" in asked else b""


def _read(body: bytes) -> Any:
    """Parses a JSON document. Raises ValueError if it is malformed or nested too deeply."""
    if body.count(b"[") + body.count(b"{") > SHALLOW:
        decode_json(body, max_bytes=BODY_LIMIT)
    return json.loads(body, parse_constant=_no_number)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _id_of(asked: Any) -> Any:
    number = asked.get("id") if isinstance(asked, dict) else None
    return number if isinstance(number, str | int) and not isinstance(number, bool) else None


def _failed(number: Any, problem: Problem) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": number, "error": problem.as_json()})
