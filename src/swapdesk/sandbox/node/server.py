"""JSON-RPC 2.0 over loopback HTTP in front of a node, and the door of its embedded chains."""

from __future__ import annotations

import logging
from inspect import isawaitable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from swapdesk.chain.rpc.methods import Method, RpcCode
from swapdesk.sandbox.loopback import refusal
from swapdesk.sandbox.node.chain_doors import ChainDoors
from swapdesk.sandbox.node.chain_faults import NodeDown
from swapdesk.sandbox.node.chain_wallets import ChainClosed
from swapdesk.sandbox.node.deposits import AddressesHeld
from swapdesk.sandbox.node.ledger import LedgerRefusal
from swapdesk.sandbox.node.node import Node
from swapdesk.wire.encoding.codec import CodecError, ShapeError, decode_json, encode_json, validate

BODY_LIMIT = 64 * 1024

logger = logging.getLogger(__name__)


class _Problem(Exception):
    def __init__(self, code: RpcCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class NodeApp:
    """One request, one method. Only whoever knows the token is answered, but for the paths of
    ``chains``, which answer for themselves."""

    def __init__(self, node: Node, token: str, chains: ChainDoors | None = None) -> None:
        self._node = node
        self._token = token
        self._chains = chains

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if self._chains is not None and self._chains.serves(scope["path"]):
            await self._chains(scope, receive, send)
            return
        answer = await self._answer(Request(scope, receive))
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        refused = refusal(request.headers, self._token, frozenset())
        if refused is not None:
            return Response(refused[1], status_code=refused[0], media_type="text/plain")
        if request.method != "POST":
            return Response(status_code=405, headers={"allow": "POST"})
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > BODY_LIMIT:
                return Response(status_code=413)
        document = await self._document(bytes(body))
        return Response(encode_json(document), media_type="application/json")

    async def _document(self, body: bytes) -> dict[str, Any]:
        number: object = None
        try:
            call = _call(body)
            number = call.get("id")
            result = await self._run(call)
        except _Problem as problem:
            error = {"code": int(problem.code), "message": str(problem)}
            return {"jsonrpc": "2.0", "id": number, "error": error}
        return {"jsonrpc": "2.0", "id": number, "result": result}

    async def _run(self, call: dict[str, Any]) -> Any:
        try:
            method = Method(str(call.get("method")))
        except ValueError:
            raise _Problem(RpcCode.NO_METHOD, "no such method") from None
        try:
            params = validate(
                self._node.handlers[method].params, call.get("params") or {}, side="service"
            )
        except ShapeError as error:
            raise _Problem(RpcCode.BAD_PARAMS, str(error)) from None
        try:
            result = self._node.call(method, params)
            return await result if isawaitable(result) else result
        except AddressesHeld as held:
            raise _Problem(RpcCode.NO_ADDRESS, str(held)) from None
        except (NodeDown, ChainClosed) as down:
            raise _Problem(RpcCode.DOWN, str(down)) from None
        except LedgerRefusal as refused:
            raise _Problem(RpcCode.REFUSED, str(refused)) from None
        except Exception:
            # The boundary of a call: logged whole, and the caller learns that it is our fault.
            logger.exception("%s failed", method)
            raise _Problem(RpcCode.INTERNAL, "the node failed") from None


def _call(body: bytes) -> dict[str, Any]:
    try:
        call = decode_json(body, max_bytes=BODY_LIMIT)
    except CodecError as error:
        raise _Problem(RpcCode.BAD_JSON, str(error)) from None
    if not isinstance(call, dict) or not isinstance(call.get("params", {}), dict):
        raise _Problem(RpcCode.BAD_REQUEST, "a call is an object with named parameters")
    return call
