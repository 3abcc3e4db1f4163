"""The control of a sandbox: its clock, its faucet and its faults (interfaces 2).

Listens on its own port of this machine, needs its token, and checks ``Host`` and ``Origin``.
``WorldPace`` follows the time of the node.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from swapdesk.chain.rpc.ledger import LedgerClient, LedgerError, LedgerMethod, LedgerRefused
from swapdesk.clock import SystemClock
from swapdesk.sandbox.answer_faults import AnswerFault, AnswerFaults, StreamFault
from swapdesk.sandbox.bundle_faults import BundleFault, BundleFaults
from swapdesk.sandbox.control_bodies import ClockBody, DepositBody, FaultBody, GiftBody
from swapdesk.sandbox.faucet import FaucetRefusal, OrderFaucet, gift_of
from swapdesk.sandbox.fault_layer import FaultLayer
from swapdesk.sandbox.faults import ActiveFault, ActiveFaults, FaultKind
from swapdesk.sandbox.loopback import refusal
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.venue_faults import VenueFault, VenueFaults
from swapdesk.service.orders.presentation import delete_order
from swapdesk.service.store.records import Store
from swapdesk.wire.encoding.codec import CodecError, ShapeError, decode, encode_json
from swapdesk.wire.encoding.timestamps import rfc3339
from swapdesk.wire.model import RequestModel


class WorldPace:
    """Keeps a clock and a speed at what the node said last."""

    def __init__(self, clock: SystemClock, told: Mapping[str, Any]) -> None:
        self._clock = clock
        self.speed = Decimal(1)
        self.follow(told)

    def follow(self, told: Mapping[str, Any]) -> None:
        """Take over an answer of ``clock_get`` or ``clock_set``."""
        self._clock.advance_to(float(str(told["offset"])))
        self.speed = Decimal(str(told["speed"]))


PREFIX = "/sandbox"
BODY_LIMIT = 64 * 1024

logger = logging.getLogger(__name__)

B = TypeVar("B", bound=RequestModel)
Operation = Callable[[Request], Awaitable[dict[str, Any]]]


class _Refused(Exception):
    """An answer other than 200. ``fields`` name what is wrong, by input."""

    def __init__(
        self, status: int, code: str, message: str, fields: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.fields = fields or {}


class Control:
    """The control application over the parts it moves."""

    def __init__(
        self,
        *,
        token: str,
        hosts: frozenset[str],
        ledger: LedgerClient,
        faucet: OrderFaucet,
        clock: SystemClock,
        pace: WorldPace,
        market: Market,
        faults: AnswerFaults,
        venue_faults: VenueFaults,
        bundle_faults: BundleFaults,
        layer: FaultLayer,
        store: Store,
    ) -> None:
        self._token = token
        self._hosts = hosts
        self._ledger = ledger
        self._faucet = faucet
        self._clock = clock
        self._pace = pace
        self._market = market
        self._rooms: dict[type[FaultKind], ActiveFaults[Any]] = {
            AnswerFault: faults,
            StreamFault: faults,
            VenueFault: venue_faults,
            BundleFault: bundle_faults,
        }
        """Where a fault of each kind is kept."""
        self._store = store
        self._layer = layer
        self._operations: dict[str, dict[str, Operation]] = {
            "/state": {"GET": self._state},
            "/clock": {"POST": self._move_clock},
            "/deposits": {"POST": self._deposit},
            "/faucet": {"POST": self._give},
            "/faults": {"POST": self._add_fault, "DELETE": self._clear_faults},
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        refused = refusal(request.headers, self._token, self._hosts)
        if refused is not None:
            return _error(_Refused(refused[0], "REFUSED", refused[1]))
        methods = self._operations.get(request.url.path.removeprefix(PREFIX))
        if methods is None or not request.url.path.startswith(PREFIX):
            return _error(_Refused(404, "NOT_FOUND", "There is no such control operation."))
        operation = methods.get(request.method)
        if operation is None:
            response = _error(_Refused(405, "METHOD_NOT_ALLOWED", "Use another method."))
            response.headers["allow"] = ", ".join(methods)
            return response
        try:
            return Response(encode_json(await operation(request)), media_type="application/json")
        except _Refused as error:
            return _error(error)
        except LedgerRefused as error:
            return _error(_Refused(422, "REFUSED", str(error)))
        except LedgerError as error:
            return _error(_Refused(503, "NODE_UNAVAILABLE", str(error)))

    async def _state(self, _: Request) -> dict[str, Any]:
        """Clock, speed, heights, prices and active faults."""
        waiting = await self._ledger.call(LedgerMethod.FAULT_LIST)
        return {
            **await self._time(),
            "heights": await self._ledger.call(LedgerMethod.CHAIN_HEIGHTS),
            "prices": self._market.prices(self._clock.now()),
            "faults": [
                *self._active(AnswerFault),
                *self._layer.refusing(),
                *self._active(VenueFault),
                *self._active(BundleFault),
                *waiting,
            ],
        }

    def _active(self, kind: type[FaultKind]) -> list[dict[str, object]]:
        return [fault.as_json() for fault in self._rooms[kind].active]

    async def _time(self) -> dict[str, Any]:
        told = await self._ledger.call(LedgerMethod.CLOCK_GET)
        self._pace.follow(told)
        return {
            "now": rfc3339(self._clock.now()),
            "offset": told["offset"],
            "speed": told["speed"],
            "seed": told["seed"],
        }

    async def _move_clock(self, request: Request) -> dict[str, Any]:
        """Moves the clock on, or changes the speed; answers with the clock."""
        body = await _body(ClockBody, request)
        if body.advance is None and body.speed is None:
            raise _invalid("advance", "give advance in seconds, or speed")
        asked = {"advance": body.advance, "speed": body.speed}
        await self._ledger.call(
            LedgerMethod.CLOCK_SET,
            **{name: value for name, value in asked.items() if value is not None},
        )
        return await self._time()

    async def _deposit(self, request: Request) -> dict[str, Any]:
        """Pays the deposit of an order from the faucet; answers with the ``hash``."""
        body = await _body(DepositBody, request)
        order = await self._faucet.find(body.service_id)
        if order is None:
            raise _Refused(404, "NOT_FOUND", "There is no such order.")
        try:
            paid = await self._faucet.pay(order, body.amount, body.memo)
        except FaucetRefusal as error:
            raise _invalid(error.field, str(error)) from None
        return {"hash": paid}

    async def _give(self, request: Request) -> dict[str, Any]:
        """Gives coins or tokens of an embedded chain; answers with the ``hash``, on Solana with
        the ``signature``."""
        body = await _body(GiftBody, request)
        try:
            gift = gift_of(body.chain, body.address, body.token, body.amount)
        except FaucetRefusal as error:
            raise _invalid(error.field, str(error)) from None
        return dict(await self._ledger.call(gift.method, **gift.params))

    async def _add_fault(self, request: Request) -> dict[str, Any]:
        """Sets a fault."""
        # On use: who sets no fault needs none of what faults touch.
        from swapdesk.sandbox.fault_choice import FaultRefused, NodeFaultCall, choose

        body = await _body(FaultBody, request)
        if body.service_id is not None and await self._faucet.find(body.service_id) is None:
            raise _Refused(404, "NOT_FOUND", "There is no such order.")
        if body.multi_id is not None and not await self._faucet.knows_group(body.multi_id):
            raise _Refused(404, "NOT_FOUND", "There is no such group of orders.")
        try:
            chosen = choose(body)
        except FaultRefused as error:
            raise _invalid(error.field, str(error)) from None
        if body.quote_id is not None and not await self._faucet.knows_quote(body.quote_id):
            raise _Refused(404, "NOT_FOUND", "There is no such quote.")
        if isinstance(chosen, ActiveFault):
            self._room(chosen.kind).add(chosen)
            self._layer.drop_streams()
        elif isinstance(chosen, NodeFaultCall):
            await self._ledger.call(LedgerMethod.FAULT_ADD, **chosen.params)
        else:
            await self._delete(chosen.service_id)
        return {"fault": body.fault, "times": body.times}

    def _room(self, kind: FaultKind) -> ActiveFaults[Any]:
        return next(room for known, room in self._rooms.items() if isinstance(kind, known))

    async def _delete(self, service_id: str) -> None:
        order = await self._faucet.find(service_id)
        if order is None or not await delete_order(self._store, order, self._clock.now()):
            raise _invalid("serviceId", "an order that is being carried out is not deleted")

    async def _clear_faults(self, _: Request) -> dict[str, Any]:
        """Clears every fault, and ends holds."""
        for room in self._rooms.values():
            room.clear()
        self._layer.open_streams()
        await self._ledger.call(LedgerMethod.FAULT_CLEAR)
        return {"faults": []}


async def _body(kind: type[B], request: Request) -> B:
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > BODY_LIMIT:
            raise _Refused(413, "PAYLOAD_TOO_LARGE", "The body is too large.")
    try:
        return decode(kind, bytes(received), side="service", max_bytes=BODY_LIMIT)
    except ShapeError as error:
        raise _Refused(422, "VALIDATION_ERROR", "Validation Failed", dict(error.fields)) from None
    except CodecError as error:
        raise _Refused(400, "BAD_REQUEST", f"The body is no acceptable JSON: {error}") from None


def _invalid(field: str, reason: str) -> _Refused:
    return _Refused(422, "VALIDATION_ERROR", f"{field}: {reason}", {field: reason})


def _error(error: _Refused) -> Response:
    body: dict[str, Any] = {"message": str(error), "code": error.code}
    if error.status == 422:
        body["fields"] = {name: {"message": reason} for name, reason in error.fields.items()}
    return Response(encode_json(body), status_code=error.status, media_type="application/json")
