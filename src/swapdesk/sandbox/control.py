"""The control of a sandbox, an HTTP server for its clock, its faucet and its faults (interfaces 2).
It listens on this machine only, requires its token, and checks ``Host`` and ``Origin``."""

from __future__ import annotations

import re
import uuid
from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from swapdesk.chain.node_http import NodeError, NodeRefused
from swapdesk.chain.rpc.ledger import LedgerClient
from swapdesk.clock import SystemClock
from swapdesk.sandbox.fault_layer import STREAM, FaultLayer, operation_named
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.sandbox.http_server import refusal
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.node.params import (
    Address,
    ChainName,
    ClockSet,
    FaultAdd,
    PayerName,
    TransferOf,
)
from swapdesk.sandbox.tables import EVM_CHAINS, HONEST_ROWS, VENUE_ROWS
from swapdesk.sandbox.world import WorldToken, chains_by_name, world_tokens
from swapdesk.service.orders.order_routes import leg_key
from swapdesk.service.orders.presentation import delete_order
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.store.store import Store
from swapdesk.wire.encoding.codec import CodecError, ShapeError, decode, encode_json
from swapdesk.wire.encoding.ids import OrderId, QuoteId
from swapdesk.wire.encoding.numbers import BodyNumber, NumberError, from_base_units, to_base_units
from swapdesk.wire.encoding.text import Identity
from swapdesk.wire.encoding.timestamps import rfc3339
from swapdesk.wire.faults import (
    DELETE,
    FAULTS,
    NODE_FAULTS,
    SELECTORS,
    STREAM_FAULTS,
    Fault,
    FaultRefused,
    fault_of,
)
from swapdesk.wire.model import RequestModel
from swapdesk.wire.orders import LegStatus

PREFIX = "/sandbox"
BODY_LIMIT = 64 * 1024
SOLANA = "solana"

_HONEST = frozenset(HONEST_ROWS)
_EVM_ADDRESS = re.compile("0x[0-9a-fA-F]{40}")
_VENUE_NAMES = {row.code: row.name for row in VENUE_ROWS}

B = TypeVar("B", bound=RequestModel)
Operation = Callable[[Request], Awaitable[dict[str, Any]]]


Amount = Annotated[BodyNumber, Field(gt=0)]


class DepositBody(RequestModel):
    """A request to pay the deposit of an order from the faucet. If ``payer`` names a customer of
    the sandbox, the customer's own account on the embedded EVM chain pays instead."""

    service_id: OrderId
    amount: Amount | None = None
    memo: Annotated[str, Identity(64)] | None = None
    payer: PayerName | None = None


class GiftBody(RequestModel):
    """A request to give coins or tokens to an address.

    ``token`` is the id, contract or symbol of a token on the chain; None means the chain's coin.
    ``amount`` is in whole tokens.
    """

    chain: ChainName
    address: Address
    token: Annotated[str, Identity(200)] | None = None
    amount: Amount


class FaultBody(FaultAdd):
    """A fault to set, with at most one selector.

    ``times`` is the number of requests, frames, legs or calls affected, by default 1. A permanent
    fault, such as a node that is down, lasts until faults are cleared. ``seconds`` is the duration
    (default 2, for ``ws_drop`` 0); a rate-limit fault sends it as ``retry-after``.
    """

    operation: Annotated[str, Identity(200)] | None = None
    quote_id: QuoteId | None = None
    multi_id: OrderId | None = None
    seconds: Annotated[BodyNumber, Field(ge=0, le=300)] | None = None


class ControlRefused(Exception):
    """Raised to answer a control request with a status other than 200. ``fields`` says what is
    wrong with each input."""

    def __init__(
        self, status: int, code: str, message: str, fields: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.fields = fields or {}


def _invalid(field: str, reason: str) -> ControlRefused:
    message = f"{field}: {reason}"
    return ControlRefused(422, "VALIDATION_ERROR", message, {field: reason})


class WorldPace:
    """The sandbox's clock and ``speed``, as the node reported them last. World time, in which
    blocks are made, runs ``speed`` times faster than sandbox time."""

    def __init__(self, clock: SystemClock, time: Mapping[str, Any]) -> None:
        self._clock = clock
        self.speed = Decimal(1)
        self.follow(time)

    def follow(self, time: Mapping[str, Any]) -> None:
        """Sets the clock and the speed from the node's answer to ``clock_get`` or ``clock_set``."""
        self._clock.advance_to(float(str(time["offset"])))
        self.speed = Decimal(str(time["speed"]))


class Control:
    def __init__(
        self,
        *,
        token: str,
        hosts: frozenset[str],
        ledger: LedgerClient,
        clock: SystemClock,
        pace: WorldPace,
        market: Market,
        faults: ActiveFaults,
        layer: FaultLayer,
        store: Store,
    ) -> None:
        self._token = token
        self._hosts = hosts
        self._ledger = ledger
        self._clock = clock
        self._pace = pace
        self._market = market
        self._faults = faults
        self._layer = layer
        self._store = store
        self._operations: dict[str, dict[str, Operation]] = {
            "/state": {"GET": self._state},
            "/clock": {"POST": self._move_clock},
            "/deposits": {"POST": self._deposit},
            "/legs": {"GET": self._legs},
            "/wallets": {"GET": self._wallets},
            "/faucet": {"POST": self._give},
            "/transfers": {"POST": self._find_transfer},
            "/faults": {
                "GET": self._list_faults,
                "POST": self._add_fault,
                "DELETE": self._clear_faults,
            },
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        refused = refusal(request.headers, self._token, self._hosts)
        if refused is not None:
            return _error(ControlRefused(refused[0], "REFUSED", refused[1]))
        methods = self._operations.get(request.url.path.removeprefix(PREFIX))
        if methods is None or not request.url.path.startswith(PREFIX):
            return _error(ControlRefused(404, "NOT_FOUND", "There is no such control operation."))
        operation = methods.get(request.method)
        if operation is None:
            response = _error(ControlRefused(405, "METHOD_NOT_ALLOWED", "Use another method."))
            response.headers["allow"] = ", ".join(methods)
            return response
        try:
            return Response(encode_json(await operation(request)), media_type="application/json")
        except ControlRefused as error:
            return _error(error)
        except FaultRefused as error:
            return _error(_invalid(error.field, str(error)))
        except NodeRefused as error:
            return _error(ControlRefused(422, "REFUSED", str(error)))
        except NodeError as error:
            return _error(ControlRefused(503, "NODE_UNAVAILABLE", str(error)))

    async def _state(self, _: Request) -> dict[str, Any]:
        """Returns the clock, the speed, the chains' heights, the prices and the active faults."""
        waiting = await self._ledger.call("fault_list")
        return {
            **await self._time(),
            "heights": await self._ledger.call("chain_heights"),
            "prices": self._market.prices(self._clock.now()),
            "faults": [
                *(fault.as_json() for fault in self._faults.active),
                *self._layer.refusing(),
                *waiting,
            ],
        }

    async def _time(self) -> dict[str, Any]:
        time = await self._ledger.call("clock_get")
        self._pace.follow(time)
        return {
            "now": rfc3339(self._clock.now()),
            "offset": time["offset"],
            "speed": time["speed"],
            "seed": time["seed"],
        }

    async def _move_clock(self, request: Request) -> dict[str, Any]:
        """Moves the clock forward, or changes the speed; returns the clock."""
        asked = _given(await _body(ClockSet, request))
        if not asked:
            raise _invalid("advance", "give advance in seconds, or speed")
        await self._ledger.call("clock_set", **asked)
        return await self._time()

    async def _deposit(self, request: Request) -> dict[str, Any]:
        """Pays the deposit of an order, from the faucet or a customer's account; returns the
        ``hash`` of the payment."""
        body = await _body(DepositBody, request)
        order = await self._order(body.service_id)
        if order.deposit_address is None:
            raise _invalid("serviceId", "the order has no deposit address")
        token = world_tokens()[order.token_in_id]
        units = _units(order.amount_in if body.amount is None else body.amount, token)
        if units <= 0:
            raise _invalid("amount", "must be above 0")
        as_asked = body.amount is None and body.memo is None
        paid = await self._ledger.call(
            "faucet_pay",
            # The node pays a key once: a repeated call gets the hash of the first.
            key=f"deposit:{order.service_id}" if as_asked else str(uuid.uuid4()),
            token=token.token_id,
            address=order.deposit_address,
            # An empty memo pays without one.
            tag=order.deposit_tag if body.memo is None else body.memo or None,
            units=str(units),
            payer=body.payer,
        )
        return {"hash": str(paid["hash"])}

    async def _legs(self, request: Request) -> dict[str, Any]:
        """Returns the ``legs`` of an order as the exchanges know them: venue, tokens, amounts,
        hashes and status. The query names the order as ``?serviceId=``. The partner API does not
        show these legs."""
        order = await self._order(request.query_params.get("serviceId", ""))
        positions: tuple[Literal["in", "out"], ...] = ("in", "out")
        wanted = [
            {"venue": code, "key": leg_key(order, position)}
            for code, position in zip(order.legs, positions, strict=False)
        ]
        legs = await self._ledger.call("venue_legs", legs=wanted)
        return {"legs": [_leg(leg) for leg in legs]}

    async def _order(self, service_id: str) -> StoredOrder:
        order = await self._store.orders.current(service_id)
        if order is None:
            raise ControlRefused(404, "NOT_FOUND", "There is no such order.")
        return order

    async def _wallets(self, request: Request) -> dict[str, Any]:
        """Returns the ``wallets`` from which the exchanges pay on a chain, with the labels that
        block explorers show. The query names the chain as ``?chain=``."""
        chain = request.query_params.get("chain", "")
        return {"wallets": await self._ledger.call("venue_wallets", chain=chain)}

    async def _give(self, request: Request) -> dict[str, Any]:
        """Gives coins or tokens of an embedded chain to an address; returns the ``hash`` of the
        payment, on Solana its ``signature``."""
        body = await _body(GiftBody, request)
        # Not to be repeated: it pays again.
        gift = gift_of(body.chain, body.address, body.token, body.amount)
        return dict(await self._ledger.call("fund", **gift))

    async def _find_transfer(self, request: Request) -> dict[str, Any]:
        """Finds a payment by its hash, on a chain that exists only in the node's ledger.
        ``transfer`` is null if there is no such payment."""
        asked = _given(await _body(TransferOf, request))
        return {"transfer": await self._ledger.call("transfer_get", **asked)}

    async def _list_faults(self, _: Request) -> dict[str, Any]:
        """Returns every fault that can be set: its effect (``does``), its ``selectors``, whether it
        can be set without a selector (``unselected``), its parameters (``takes``), and the
        ``chains`` to which it is restricted, if any."""
        return {
            "faults": [
                {
                    "fault": fault.name,
                    "does": fault.does,
                    "selectors": fault.selectors,
                    "unselected": fault.unselected,
                    "takes": fault.takes,
                    "chains": fault.chains,
                }
                for fault in FAULTS.values()
            ]
        }

    async def _add_fault(self, request: Request) -> dict[str, Any]:
        """Sets a fault; returns its name and ``times``."""
        body = await _body(FaultBody, request)
        given = _given(body)
        name = given.pop("fault")
        fault = fault_of(name, given)
        await self._require_known(body)
        if body.chain is not None and fault.chains and body.chain not in fault.chains:
            able = ", ".join(fault.chains)
            raise ControlRefused(422, "REFUSED", f"only an embedded chain does that: {able}")
        if body.operation is not None:
            given["operation"] = _operation(body.operation, fault)
        if fault is DELETE:
            order = await self._order(given["serviceId"])
            if not await delete_order(self._store, order, self._clock.now()):
                raise _invalid("serviceId", "an order that is being carried out is not deleted")
        elif name in NODE_FAULTS:
            await self._ledger.call("fault_add", fault=name, **given)
        else:
            selector = next((member for member in given if member in SELECTORS), "")
            chosen = given.get(selector, "")
            self._faults.set(name, selector, chosen, times=body.times, seconds=body.seconds)
            self._layer.drop_streams()
        return {"fault": name, "times": body.times}

    async def _require_known(self, body: FaultBody) -> None:
        """Raises ControlRefused if the order, batch, quote, exchange or chain that a fault selects
        does not exist."""
        if body.service_id is not None:
            await self._order(body.service_id)
        if body.multi_id is not None and await self._store.groups.owner(body.multi_id) is None:
            raise ControlRefused(404, "NOT_FOUND", "There is no such group of orders.")
        if body.quote_id is not None and await self._store.quotes.owner(body.quote_id) is None:
            raise ControlRefused(404, "NOT_FOUND", "There is no such quote.")
        if body.venue is not None and body.venue not in _VENUE_NAMES:
            raise _invalid("venue", f"there is no exchange {body.venue!r}")
        if body.chain is not None and body.chain not in chains_by_name():
            raise _invalid("chain", f"there is no chain {body.chain!r}")

    async def _clear_faults(self, _: Request) -> dict[str, Any]:
        """Clears every fault. Deposits that an exchange holds for a check are released."""
        self._faults.active.clear()
        self._layer.open_streams()
        await self._ledger.call("fault_clear")
        return {"faults": []}


def _operation(text: str, fault: Fault) -> str:
    operation = operation_named(text)
    if operation is None:
        raise _invalid("operation", f"there is no operation at {text!r}")
    if (operation == STREAM) is not (fault in STREAM_FAULTS):
        raise _invalid("operation", f"{fault.name} does not happen to {operation}")
    return operation


def _leg(leg: Mapping[str, Any]) -> dict[str, Any]:
    tokens = [world_tokens()[str(leg[side])] for side in ("tokenIn", "tokenOut")]
    sides = [
        {
            "token": token.token_id,
            "symbol": token.row.symbol,
            "chain": token.row.chain,
            "amount": from_base_units(int(str(units)), token.row.decimals),
        }
        for token, units in zip(tokens, (leg["unitsIn"], leg["unitsOut"]), strict=True)
    ]
    return {
        "venue": _VENUE_NAMES[str(leg["venue"])],
        "in": sides[0],
        "out": sides[1],
        "depositAddress": leg["address"],
        "status": LegStatus(int(str(leg["status"]))).name,
        "depositHash": leg["depositHash"],
        "payoutHash": leg["payoutHash"],
        "confirmations": leg["confirmations"],
        "confirmationsNeeded": leg["confirmationsNeeded"],
    }


def gift_of(chain: str, address: str, token: str | None, amount: Decimal) -> dict[str, str]:
    """Returns the parameters of the node's method ``fund`` for a gift of ``amount`` whole tokens.
    ``token`` is an id, contract or symbol; None means the chain's coin. Raises ControlRefused for a
    wrong chain, address, token or amount."""
    if chain not in (*EVM_CHAINS, SOLANA):
        chains = ", ".join((*EVM_CHAINS, SOLANA))
        raise _invalid("chain", f"the sandbox runs these chains itself: {chains}")
    if chains_by_name()[chain].kind == "evm" and _EVM_ADDRESS.fullmatch(address) is None:
        raise _invalid("address", f"is no address of {chain}")
    meant = _found(chain, token)
    contract = {} if meant.address is None else {"token": meant.address}
    units = str(_units(amount, meant))
    return {"chain": chain, "address": address, "units": units, **contract}


def _units(amount: Decimal, token: WorldToken) -> int:
    try:
        return to_base_units(amount, token.row.decimals)
    except NumberError as error:
        raise _invalid("amount", str(error)) from None


def _found(chain: str, token: str | None) -> WorldToken:
    tokens = [
        candidate
        for candidate in world_tokens().values()
        if candidate.row.chain == chain and candidate.row.enabled and candidate.row in _HONEST
    ]
    if token is None:
        return next(candidate for candidate in tokens if candidate.row.native)
    for place in range(len(_names(tokens[0]))):
        matches = [
            candidate for candidate in tokens if _names(candidate)[place] == token.casefold()
        ]
        # Who means a namesake of a token that has a price gives its contract.
        if len(matches) > 1:
            matches = [candidate for candidate in matches if candidate.asset is not None] or matches
        if len(matches) == 1:
            return matches[0]
        if matches:
            ids = ", ".join(candidate.address or candidate.token_id for candidate in matches)
            raise _invalid("token", f"several tokens of {chain} are called so: {ids}")
    raise _invalid("token", f"there is no such token on {chain}")


def _names(token: WorldToken) -> tuple[str, str, str]:
    return token.token_id, (token.address or "").casefold(), token.row.symbol.casefold()


async def _body(kind: type[B], request: Request) -> B:
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > BODY_LIMIT:
            raise ControlRefused(413, "PAYLOAD_TOO_LARGE", "The body is too large.")
    try:
        return decode(kind, bytes(received), side="service", max_bytes=BODY_LIMIT)
    except ShapeError as error:
        raise ControlRefused(
            422, "VALIDATION_ERROR", "Validation Failed", dict(error.fields)
        ) from None
    except CodecError as error:
        raise ControlRefused(
            400, "BAD_REQUEST", f"The body is no acceptable JSON: {error}"
        ) from None


def _given(body: RequestModel) -> dict[str, Any]:
    return body.model_dump(by_alias=True, exclude_none=True)


def _error(error: ControlRefused) -> Response:
    body: dict[str, Any] = {"message": str(error), "code": error.code}
    if error.status == 422:
        body["fields"] = {name: {"message": reason} for name, reason in error.fields.items()}
    return Response(encode_json(body), status_code=error.status, media_type="application/json")
