"""One service as the desk calls it: connection, clock and budget, and answers read strictly.

What can be asked of it stands in :mod:`swapdesk.client.api`.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Generic, Self, TypeVar

import httpx2
from msgspec import Struct
from pydantic import BaseModel
from pydantic.alias_generators import to_snake

from swapdesk.client.budget import Budget
from swapdesk.client.credentials import Credentials
from swapdesk.client.errors import ClientError, RequestRefused
from swapdesk.client.exchange_log import ExchangeLog
from swapdesk.client.own_calls import OwnCalls
from swapdesk.client.payments import PaysCalls
from swapdesk.client.retry import OnRepeat, RetryPolicy
from swapdesk.client.server_clock import ServerClock
from swapdesk.client.transport import ApiTransport, RawAnswer, refuse_answer
from swapdesk.clock import Clock
from swapdesk.wire.encoding.codec import CodecError, ShapeError, decode_json, encode_json, validate
from swapdesk.wire.encoding.ids import safe_segment
from swapdesk.wire.encoding.query import encode_query
from swapdesk.wire.encoding.text import UnsafeText
from swapdesk.wire.operation import Operation
from swapdesk.wire.operations import BODY_LIMIT, BY_NAME, OPERATIONS
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token


def find_operation(method: str, path: str) -> tuple[Operation, dict[str, str]]:
    """The row of a method and a path like ``/v2/orders/abc`` and its path values."""
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


T = TypeVar("T")


class Receipt(Struct, Generic[T], frozen=True):
    """``made`` is what the service created. ``request_id`` is its name for the request, which
    support asks for; None where it gave none."""

    made: T
    request_id: str | None


_RAW_ORDERS = 256
OTHER_ID = "other_id"
"""The reason of an answer that is refused because it is about something else."""


class ApiConnection:
    """An async context manager around one long-lived connection pool.

    ``base_url`` ends with ``/v2`` or gets it. With a :class:`ServerClock` as ``clock`` the
    desk's time follows the service; with any other, :meth:`server_now` and :meth:`skew` tell
    the difference. ``transport`` replaces the network; ``own_calls`` keeps what was charged;
    ``payer`` pays calls that have to be paid for (402); ``server`` is a clock that is to follow
    the service.
    """

    def __init__(
        self,
        base_url: str,
        credentials: Credentials,
        *,
        clock: Clock,
        transport: httpx2.AsyncBaseTransport | None = None,
        rng: random.Random | None = None,
        exchange_log: ExchangeLog | None = None,
        policy: RetryPolicy | None = None,
        own_calls: OwnCalls | None = None,
        payer: PaysCalls | None = None,
        server: ServerClock | None = None,
    ) -> None:
        self.credentials = credentials
        self._transport = ApiTransport(
            base_url,
            credentials,
            clock=clock,
            transport=transport,
            rng=rng,
            exchange_log=exchange_log,
            policy=policy,
            on_counted=self._count,
            on_answered=self._answered,
            payer=payer,
            server=server,
        )
        self.budget = Budget(self.server.now, own_calls)
        self._raw_orders: OrderedDict[str, bytes] = OrderedDict()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._transport.aclose()

    @property
    def url(self) -> str:
        """The address in use, with its ``/v2``."""
        return str(self._transport.url)

    @property
    def server(self) -> ServerClock:
        """The service's time as a clock."""
        return self._transport.server

    def server_now(self) -> datetime:
        """The service's time, aware UTC."""
        return self.server.now()

    def skew(self) -> float | None:
        """Seconds the service is ahead of this machine; None before the first answer."""
        return self.server.skew()

    def raw_order(self, service_id: str) -> bytes | None:
        """The exact bytes of the newest answer that was this one order, if still kept."""
        return self._raw_orders.get(service_id)

    async def call(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
    ) -> RawAnswer:
        """Any operation of the table by method and path, with or without ``/v2`` before it.

        The answer comes undecoded. :class:`RequestRefused` when no row has this method and
        path; nothing is sent then.
        """
        operation, values = find_operation(method, path)
        if operation.writes != (body is not None):
            need = "needs a body" if operation.writes else "takes no body"
            raise RequestRefused(f"{operation.method} {operation.path} {need}")
        if body is not None and len(body) > BODY_LIMIT:
            raise RequestRefused(f"a body has at most {BODY_LIMIT} bytes")
        return await self._transport.send(operation, path=values, query=query, body=body)

    async def _call(
        self,
        name: str,
        kind: type[T],
        *,
        path: Mapping[str, str] | None = None,
        query: BaseModel | None = None,
        body: BaseModel | None = None,
        wrapped: str | None = None,
        read: Callable[[object], T] | None = None,
        until: datetime | None = None,
        on_repeat: OnRepeat | None = None,
    ) -> T:
        operation = BY_NAME[name]
        answer = await self._transport.send(
            operation,
            path=path,
            query=encode_query(query) if query is not None else (),
            body=encode_json(body, exclude_none=True) if body is not None else None,
            until=until,
            on_repeat=on_repeat,
        )
        try:
            return self._read(operation, answer, kind, path=path, wrapped=wrapped, read=read)
        except ClientError as error:
            await self._transport.look(error)
            raise

    async def _create(
        self, name: str, kind: type[T], body: BaseModel, until: datetime | None
    ) -> Receipt[T]:
        operation = BY_NAME[name]
        answer = await self._transport.send(
            operation, body=encode_json(body, exclude_none=True), until=until
        )
        try:
            return Receipt(self._read(operation, answer, kind), answer.request_id)
        except ClientError as error:
            await self._transport.look(error)
            raise

    def _read(
        self,
        operation: Operation,
        answer: RawAnswer,
        kind: type[T],
        *,
        path: Mapping[str, str] | None = None,
        wrapped: str | None = None,
        read: Callable[[object], T] | None = None,
    ) -> T:
        try:
            found = decode_json(answer.body, side="client", max_bytes=operation.result_limit)
            if wrapped is not None and isinstance(found, dict) and wrapped in found:
                found = found[wrapped]
            result = read(found) if read is not None else validate(kind, found, side="client")
        except ShapeError as error:
            raise refuse_answer(answer, "wrong_shape", str(error)) from None
        except CodecError as error:
            raise refuse_answer(answer, "not_json", str(error)) from None
        if _of_another(result, path or {}):
            raise refuse_answer(answer, OTHER_ID, "is about another id than was asked for")
        if isinstance(result, Order):
            self._keep(result.service_id, answer.body)
        return result

    def _keep(self, service_id: str, raw: bytes) -> None:
        self._raw_orders[service_id] = raw
        self._raw_orders.move_to_end(service_id)
        if len(self._raw_orders) > _RAW_ORDERS:
            self._raw_orders.popitem(last=False)

    def _count(self, operation: Operation) -> None:
        self.budget.count(operation.rate_class)

    def _answered(self, operation: Operation, headers: Mapping[str, str]) -> None:
        self.budget.tell(operation.rate_class, headers)


def _of_another(result: object, path: Mapping[str, str]) -> bool:
    """Whether an answer repeats what its path names as another id: whatever else it says is then
    said of something else. What a group lists belongs to it, where it says of which group it is."""
    for name, asked in path.items():
        member = to_snake(name)
        told = [getattr(result, member, None)]
        told += [getattr(one, member, None) for one in getattr(result, "orders", ())]
        if isinstance(result, Token):
            # Hexadecimal: the same in either case.
            asked, told = asked.lower(), [result.id.lower()]
        if any(one is not None and one != asked for one in told):
            return True
    return False
