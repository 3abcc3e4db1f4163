"""The Partner Swap API v2, one typed method per operation. Every method raises errors of
:mod:`swapdesk.client.errors`. The rules for repeating a call are in
:mod:`swapdesk.client.transport`.

Answers are read strictly, with one exception: in a list of orders an unreadable order is left out
and counted. The count matters, because an incomplete list does not prove that an order is absent.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct
from pydantic import BaseModel, StrictBool
from pydantic.alias_generators import to_snake

from swapdesk.client.errors import AnswerRefused, ClientError, RequestRefused
from swapdesk.client.transport import ApiTransport, OnRepeat, RawAnswer, refuse_answer
from swapdesk.wire.encoding.codec import (
    CodecError,
    ShapeError,
    decode_json,
    encode_json,
    refuse_deep,
    validate,
)
from swapdesk.wire.encoding.ids import safe_segment
from swapdesk.wire.encoding.parse_cache import Newest
from swapdesk.wire.encoding.query import encode_query
from swapdesk.wire.encoding.text import UnsafeText
from swapdesk.wire.operation import Operation
from swapdesk.wire.operations import BODY_LIMIT, BY_NAME, OPERATIONS
from swapdesk.wire.orders import Order, OrderRows
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.wire.account import (
        ChartPoint,
        ChartQuery,
        CommissionQuery,
        CommissionSummary,
        RateLimits,
        VolumeStatistics,
        WeeklyVolume,
    )
    from swapdesk.wire.chains import ChainList, ChainQuery, ProviderQuery, SwapProvider
    from swapdesk.wire.dex import (
        ApproveAnswer,
        ApproveRequest,
        ChainSignaturesRequest,
        ConfirmTransactionRequest,
        SignatureRequirement,
    )
    from swapdesk.wire.exchanges import ExchangeRequest, PrivateSendRequest
    from swapdesk.wire.health import Health
    from swapdesk.wire.multi import (
        MultiBuildRequest,
        MultiExchange,
        MultiExchangeRequest,
        MultiExchangeStatus,
        MultiSubmission,
        MultiSubmitRequest,
        MultiTransactions,
    )
    from swapdesk.wire.orders import OrderQuery
    from swapdesk.wire.quotes import (
        PairLimits,
        PairLimitsQuery,
        PrivateSendQuery,
        PrivateSendQuoteList,
        QuoteList,
        QuoteQuery,
    )
    from swapdesk.wire.tokens import TokenQuery, TokenSearchResult

log = logging.getLogger(__name__)

STEP = 20
"""Number of orders decoded at a time, about two milliseconds, before the event loop gets a turn."""

T = TypeVar("T")
_RAW_ORDERS = 256
OTHER_ID = "other_id"
"""The ``reason`` of an :class:`AnswerRefused` if the answer is about another id than requested."""


class OrderPage(Struct, frozen=True):
    """One page of the list of orders. ``skipped`` counts unreadable orders; the totals are the
    service's own (contract 8.21)."""

    orders: list[Order]
    total: int
    total_pages: int
    skipped: int = 0

    @property
    def empty(self) -> bool:
        """True if the page contained no orders at all, not even unreadable ones."""
        return not self.orders and not self.skipped


async def read_order_page(rows: OrderRows) -> OrderPage:
    """Decodes the orders of a page and counts those that cannot be decoded. Lets the event loop run
    in between."""
    orders: list[Order] = []
    skipped = 0
    for at, row in enumerate(rows.orders, start=1):
        try:
            orders.append(validate(Order, row, side="client"))
        except ShapeError as error:
            skipped += 1
            if skipped == 1:
                log.warning("an order of the list cannot be read: %s", error)
        if at % STEP == 0:
            await asyncio.sleep(0)
    if skipped > 1:
        log.warning("%d orders of one page cannot be read", skipped)
    return OrderPage(orders, rows.total, rows.total_pages, skipped)


def find_operation(method: str, path: str) -> tuple[Operation, dict[str, str]]:
    """Returns the operation for a method and a path like ``/v2/orders/abc``, and the values in the
    path. Raises RequestRefused if there is no such operation or an id is invalid."""
    wanted = path.removeprefix("/v2") if path == "/v2" or path.startswith("/v2/") else path
    segments = wanted.split("/")
    for operation in OPERATIONS:
        template = operation.path.split("/")
        if operation.method != method.upper() or len(template) != len(segments):
            continue
        values: dict[str, str] = {}
        for expected, segment in zip(template, segments, strict=True):
            if not expected.startswith("{"):
                if expected != segment:
                    break
                continue
            try:
                safe_segment(segment)
            except UnsafeText as error:
                raise RequestRefused(f"{operation.path}: {error}") from None
            values[expected[1:-1]] = segment
        else:
            return operation, values
    raise RequestRefused("the API has no operation with this method and path")


class Receipt(Struct, Generic[T], frozen=True):
    """What a request created (``made``), and the service's id of that request, which the service's
    support asks for."""

    made: T
    request_id: str | None


class PartnerApi(ApiTransport):
    """A client with one method for each operation in :mod:`swapdesk.wire.operations`."""

    @cached_property
    def _raw_orders(self) -> Newest[str, bytes]:
        return Newest(_RAW_ORDERS)

    def server_now(self) -> datetime:
        return self.server.now()

    def skew(self) -> float | None:
        """Returns the seconds by which the service's clock is ahead; None before the first
        answer."""
        return self.server.skew()

    def raw_order(self, service_id: str) -> bytes | None:
        """Returns the newest answer that was about this order alone, undecoded; None if there is
        none."""
        return self._raw_orders.get(service_id)

    async def call(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
    ) -> RawAnswer:
        """Calls an operation of the API and returns its undecoded answer. For an unknown operation,
        nothing is sent and RequestRefused is raised."""
        operation, values = find_operation(method, path)
        if operation.writes != (body is not None):
            need = "needs a body" if operation.writes else "takes no body"
            raise RequestRefused(f"{operation.method} {operation.path} {need}")
        if body is not None and len(body) > BODY_LIMIT:
            raise RequestRefused(f"a body has at most {BODY_LIMIT} bytes")
        return await self.send(operation, path=values, query=query, body=body)

    async def health(self) -> Health:
        """Returns the service's health. Any status from 200 to 299 means that it is well, whatever
        the body says (contract 13.1)."""
        from swapdesk.wire.health import Health

        try:
            return await self._call("health")
        except AnswerRefused as error:
            if not 200 <= error.status < 300:
                raise
            return Health()

    async def openapi(self) -> dict[str, Any]:
        """Returns the service's OpenAPI document as JSON values. Fractions are Decimals. The usual
        bounds on numbers do not apply."""
        answer = await self.send(BY_NAME["openapi"])
        try:
            refuse_deep(answer.body)
            document = json.loads(answer.body, parse_float=Decimal)
        except ValueError:
            raise refuse_answer(answer, "not_json", "is no JSON document") from None
        if not isinstance(document, dict):
            raise refuse_answer(answer, "wrong_shape", "is no JSON object")
        return document

    async def list_chains(self, query: ChainQuery | None = None) -> ChainList:
        return await self._call("list_chains", query=query)

    async def list_tokens(self, query: TokenQuery | None = None) -> TokenSearchResult:
        return await self._call("list_tokens", query=query)

    async def get_token(self, token_id: str) -> Token:
        return await self._call("get_token", path={"id": token_id})

    async def list_swaps(self, query: ProviderQuery | None = None) -> list[SwapProvider]:
        """Returns the providers that ``query`` selects, by default all (contract 5.14)."""
        return await self._call("list_swaps", query=query, wrapped="swaps")

    async def get_pair_limits(self, query: PairLimitsQuery) -> PairLimits:
        return await self._call("get_pair_limits", query=query)

    async def get_quotes(
        self, query: QuoteQuery, *, on_repeat: OnRepeat | None = None
    ) -> QuoteList:
        return await self._call("get_quotes", query=query, on_repeat=on_repeat)

    async def get_private_send_quotes(
        self, query: PrivateSendQuery, *, on_repeat: OnRepeat | None = None
    ) -> PrivateSendQuoteList:
        return await self._call("get_private_send_quotes", query=query, on_repeat=on_repeat)

    async def create_exchange(
        self, request: ExchangeRequest, *, until: datetime | None = None
    ) -> Receipt[Order]:
        """Creates an order. A 429 is retried once, never at or after ``until`` (the end of the
        quote). After :class:`OutcomeUnknown` the order may exist: look for it, and never send the
        request again."""
        return await self._ask("create_exchange", body=request, until=until)

    async def create_private_send(
        self, request: PrivateSendRequest, *, until: datetime | None = None
    ) -> Receipt[Order]:
        """Creates a private send. The rules of :meth:`create_exchange` apply."""
        return await self._ask("create_private_send", body=request, until=until)

    async def create_multi_exchange(self, request: MultiExchangeRequest) -> Receipt[MultiExchange]:
        """Creates a group of orders. After :class:`OutcomeUnknown` they may exist: look for them,
        and never send the request again."""
        return await self._ask("create_multi_exchange", body=request)

    async def get_multi_exchange(self, multi_id: str) -> MultiExchangeStatus:
        return await self._call("get_multi_exchange", path={"multiId": multi_id})

    async def build_multi_transactions(
        self, multi_id: str, request: MultiBuildRequest
    ) -> MultiTransactions:
        """Builds the transactions that pay a group's deposits, for signing. Invalidates every
        earlier unsubmitted build, so sign only the newest answer."""
        return await self._call(
            "build_multi_transactions", path={"multiId": multi_id}, body=request
        )

    async def get_multi_transactions(self, multi_id: str, sender: str) -> MultiTransactions:
        """Returns the transactions that ``sender`` signs and sends to pay the deposits of a group
        on Solana."""
        from swapdesk.wire.multi import MultiSenderQuery

        return await self._call(
            "get_multi_transactions",
            path={"multiId": multi_id},
            query=MultiSenderQuery(sender=sender),
        )

    async def submit_multi_transactions(
        self, multi_id: str, request: MultiSubmitRequest
    ) -> MultiSubmission:
        """Submits the signatures for the newest build. After ``NOT_FOUND`` or
        :class:`OutcomeUnknown` the build may have been submitted already: read the group's state,
        and do not build again."""
        return await self._call(
            "submit_multi_transactions", path={"multiId": multi_id}, body=request
        )

    async def get_order(self, service_id: str) -> Order:
        return await self._call("get_order", path={"serviceId": service_id})

    async def list_orders(self, query: OrderQuery | None = None) -> OrderPage:
        """Returns one page of orders. Undecodable ones are counted in ``skipped``."""
        return await read_order_page(await self._call("list_orders", kind=OrderRows, query=query))

    async def dex_approve(self, request: ApproveRequest) -> ApproveAnswer:
        """Returns the approvals and signatures that are still missing before the venue may take the
        tokens."""
        return await self._call("dex_approve", body=request)

    async def dex_allowance(self, request: ApproveRequest) -> bool:
        """Returns True if the venue may already take the tokens."""
        return await self._call("dex_allowance", kind=StrictBool, body=request)

    async def dex_chain_signatures(
        self, request: ChainSignaturesRequest
    ) -> list[SignatureRequirement]:
        """Sends one signature and returns the documents to sign next."""
        return await self._call(
            "dex_chain_signatures",
            body=request,
            wrapped="chainSignatures",
        )

    async def dex_confirm_transaction(self, request: ConfirmTransactionRequest) -> bool:
        """Reports an order's transaction to the service. False means that the service does not see
        it yet."""
        return await self._call("dex_confirm_transaction", kind=StrictBool, body=request)

    async def get_rate_limits(self) -> RateLimits:
        """Returns the account's present rate limits, and stores them in the budget of this
        client."""
        limits: RateLimits = await self._call("get_rate_limits")
        self.budget.limits = limits
        return limits

    async def get_commissions(self, query: CommissionQuery | None = None) -> CommissionSummary:
        return await self._call("get_commissions", query=query)

    async def get_volume(self) -> VolumeStatistics:
        return await self._call("get_volume")

    async def get_weekly_volume(self) -> list[WeeklyVolume]:
        """Returns the volume of each week, oldest week first, including weeks without orders."""
        return await self._call("get_weekly_volume")

    async def get_chart(self, query: ChartQuery) -> list[ChartPoint]:
        """Returns the volume of each day or month, oldest first, including days or months without
        orders."""
        return await self._call("get_chart", query=query)

    async def _call(self, name: str, **asked: Any) -> T:
        receipt: Receipt[T] = await self._ask(name, **asked)
        return receipt.made

    async def _ask(
        self,
        name: str,
        *,
        kind: Any = None,
        path: Mapping[str, str] | None = None,
        query: BaseModel | None = None,
        body: BaseModel | None = None,
        wrapped: str | None = None,
        until: datetime | None = None,
        on_repeat: OnRepeat | None = None,
    ) -> Receipt[T]:
        """Calls an operation; returns its result and the request's id. ``wrapped`` is the member in
        which some servers put the result. If ``kind`` is None, the result has the operation's own
        type."""
        operation = BY_NAME[name]
        answer = await self.send(
            operation,
            path=path,
            query=encode_query(query) if query is not None else (),
            body=encode_json(body, exclude_none=True) if body is not None else None,
            until=until,
            on_repeat=on_repeat,
        )
        try:
            kind = operation.result if kind is None else kind
            made = self._read(operation, answer, kind, path=path or {}, wrapped=wrapped)
            return Receipt(made, answer.request_id)
        except ClientError as error:
            await self.look(error)
            raise

    def _read(
        self,
        operation: Operation,
        answer: RawAnswer,
        kind: type[T],
        *,
        path: Mapping[str, str],
        wrapped: str | None,
    ) -> T:
        try:
            document = decode_json(answer.body, side="client", max_bytes=operation.result_limit)
            if wrapped is not None and isinstance(document, dict) and wrapped in document:
                document = document[wrapped]
            result = validate(kind, document, side="client")
        except ShapeError as error:
            raise refuse_answer(answer, "wrong_shape", str(error)) from None
        except CodecError as error:
            raise refuse_answer(answer, "not_json", str(error)) from None
        if _of_another(result, path):
            raise refuse_answer(answer, OTHER_ID, "is about another id than was asked for")
        if isinstance(result, Order):
            self._raw_orders[result.service_id] = answer.body
        return result


def _of_another(result: object, path: Mapping[str, str]) -> bool:
    """Returns True if an id in the answer differs from the id in ``path``."""
    for name, asked in path.items():
        member = to_snake(name)
        named = [getattr(result, member, None)]
        named += [getattr(value, member, None) for value in getattr(result, "orders", ())]
        if isinstance(result, Token):
            # Hexadecimal: the same in either case.
            asked, named = asked.lower(), [result.id.lower()]
        if any(value is not None and value != asked for value in named):
            return True
    return False
