"""The layer between the server and a handler: operation, method, clock, credentials, rate limit and
parameters are checked in this sequence.

Every answer carries ``Date`` and ``x-request-id``, refusals too. There are no redirects (contract
1.3). HEAD and OPTIONS are answered 405, except for a page's preflight
(:mod:`~swapdesk.service.browsers`).
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from email.utils import formatdate
from functools import lru_cache, partial
from inspect import isawaitable

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from swapdesk.service import browsers
from swapdesk.service.access import Caller
from swapdesk.service.errors import ServiceError
from swapdesk.service.handlers import HANDLERS, RequestContext, ServiceParts
from swapdesk.service.observation import READY, STREAM, Call
from swapdesk.service.payments import (
    PAGE_HEADERS,
    PaymentNeeded,
    caller_of,
)
from swapdesk.service.rate_limits import CountedCall, LimitReached, RateDecision
from swapdesk.service.request_reading import (
    NOT_A_CREDENTIAL,
    NoParameters,
    as_sent,
    body,
    json_object,
    names_api_key,
    parameters,
    query_pairs,
    raw_body,
    with_values,
)
from swapdesk.service.store.database import StoreUnavailable
from swapdesk.service.webhooks import Delivery
from swapdesk.wire.dex import ConfirmTransactionRequest
from swapdesk.wire.encoding.codec import decode_json, encode_json
from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.encoding.query import known_pairs
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.multi import MultiExchange
from swapdesk.wire.operation import Access, Operation, RateClass
from swapdesk.wire.operations import STREAM_PATH, operations_in
from swapdesk.wire.orders import Order
from swapdesk.wire.price_tiers import PriceTier

logger = logging.getLogger(__name__)

_OPEN_QUERIES = frozenset({"list_orders", "list_tokens"})
"""Operations that ignore unknown parameters in the public service's dialect (contract 1.22)."""


_ENDS = b'"validUntil":{"format":"date-time","type":"string"}'
_VENDOR_ENDS = b'"validUntil":{"type":"string"}'


def in_dialect(dialect: Dialect, operation: str, data: bytes) -> bytes:
    """Returns an answer's JSON with its members named as in ``dialect``. The OpenAPI document is
    converted only in part."""
    if dialect is Dialect.CONTRACT:
        return data
    if operation == "openapi":
        return data.replace(b"serviceId", b"houdiniId").replace(_ENDS, _VENDOR_ENDS)
    return encode_json(dialect.names(decode_json(data, max_bytes=len(data))))


_Headers = Sequence[tuple[bytes, bytes]]


class Seen(Struct):
    """What becomes known about a request while it is handled. ``admission`` is the state of the
    rate limit; None if unknown. ``paid`` holds the response headers about a payment."""

    call: Call
    dialect: Dialect
    admission: RateDecision | None = None
    page: _Headers = ()
    """Headers that let the page that sent the request read the answer."""
    paid: _Headers = ()

    def refused(self, error: ServiceError) -> None:
        """Records the state of the rate limit if ``error`` is a LimitReached; otherwise does
        nothing."""
        if isinstance(error, LimitReached):
            self.admission = error.decision


class Found(Struct, frozen=True):
    """The operation of a request, found by path and method, with the path parameters as they were
    sent."""

    operation: Operation
    parameters: list[tuple[str, str]]


class _Template(Struct, frozen=True):
    segments: tuple[str, ...]
    by_method: dict[str, Operation]

    def match(self, segments: tuple[str, ...]) -> list[tuple[str, str]] | None:
        if len(segments) != len(self.segments):
            return None
        parameters = []
        for wanted, sent in zip(self.segments, segments, strict=True):
            if wanted.startswith("{"):
                if not sent:
                    return None
                parameters.append((wanted[1:-1], sent))
            elif wanted != sent:
                return None
        return parameters


class Router:
    """Finds the operation of a path under ``prefix``. Paths with fewer parameters take
    precedence."""

    def __init__(self, operations: Iterable[Operation], prefix: str) -> None:
        self._prefix = prefix
        by_path: dict[str, dict[str, Operation]] = {}
        for operation in operations:
            methods = by_path.setdefault(operation.path, {})
            if operation.method in methods:
                raise ValueError(f"{operation.method} {operation.path} stands twice in the table")
            methods[operation.method] = operation
        self._literal = {path: methods for path, methods in by_path.items() if "{" not in path}
        templates = [
            _Template(tuple(path.split("/")[1:]), methods)
            for path, methods in by_path.items()
            if path not in self._literal
        ]
        self._templates = sorted(
            templates, key=lambda template: sum(s.startswith("{") for s in template.segments)
        )

    def find(self, method: str, path: str) -> Found:
        """Returns the operation of a request. Raises NOT_FOUND for an unknown path,
        METHOD_NOT_ALLOWED with the header ``Allow``."""
        prefix, rest = path[: len(self._prefix)], path[len(self._prefix) :]
        if prefix == self._prefix and rest.startswith("/"):
            methods = self._literal.get(rest)
            if methods is not None:
                return Found(_row(methods, method), [])
            segments = tuple(rest.split("/")[1:])
            for template in self._templates:
                parameters = template.match(segments)
                if parameters is not None:
                    return Found(_row(template.by_method, method), parameters)
        raise ServiceError(ErrorCode.NOT_FOUND, "There is nothing at this path.")


def _row(by_method: dict[str, Operation], method: str) -> Operation:
    operation = by_method.get(method)
    if operation is None:
        allowed = ", ".join(sorted(by_method))
        raise ServiceError(
            ErrorCode.METHOD_NOT_ALLOWED,
            f"This path answers {allowed}.",
            headers={"allow": allowed},
        )
    return operation


PREFIX = "/v2"
READY_PATH = "/ready"


_SAYS_WHO = {name.encode(): name for name in ("authorization", "partner-id", "origin", "host")}
_AT_THE_DOOR = {rate_class: rate_class for rate_class in RateClass} | {
    RateClass.EXCHANGE: RateClass.ATTEMPT
}
"""The rate class counted on arrival, by the operation's class. An exchange first counts as an
attempt, and as an exchange when it begins."""
_JSON = (b"content-type", b"application/json")


class _Answer(Struct):
    body: bytes
    status: int = 200
    headers: _Headers = (_JSON,)


_PREFLIGHT = _Answer(b"", 204, browsers.PREFLIGHT)
_NOT_NOW = "The service cannot answer at present. Try again."
_GONE = _Answer(b"", 499, ())
"""The answer recorded, with status 499, for a client that left before its request was complete."""


class Surface:
    """The ASGI application that serves all paths under ``PREFIX``, without background tasks."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts
        self._stream_path = parts.front.prefix + PREFIX + STREAM_PATH
        self._ready_path = parts.front.prefix + PREFIX + READY_PATH
        self._router = Router(operations_in(parts.dialect), parts.front.prefix + PREFIX)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = str(uuid.UUID(int=self._parts.rng.getrandbits(128), version=4))
        client = scope.get("client") or ("",)
        call = Call(request_id, scope.get("method", "WS"), address=client[0])
        seen = Seen(call, self._parts.dialect)
        begin = self._parts.clock.monotonic()
        try:
            if scope["type"] == "websocket":
                await self._stream(scope, receive, send, seen)
            else:
                answer = await self._answer(scope, receive, seen)
                await self._send(answer, send, seen)
        finally:
            call.seconds = self._parts.clock.monotonic() - begin
            for observer in self._parts.observers:
                observer.answered(call)

    async def _send(self, answer: _Answer, send: Send, seen: Seen) -> None:
        seen.call.status = answer.status
        length = [] if answer.status == 204 else [(b"content-length", b"%d" % len(answer.body))]
        headers = [*length, *answer.headers, *self._stamp(seen)]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    def _stamp(self, seen: Seen) -> list[tuple[bytes, bytes]]:
        stamp = [
            (b"x-request-id", seen.call.request_id.encode()),
            (b"date", _date(int(self._parts.clock.now().timestamp()))),
            *seen.page,
            *seen.paid,
        ]
        if seen.admission is not None:
            stamp += seen.admission.headers
        return stamp

    async def _stream(self, scope: Scope, receive: Receive, send: Send, seen: Seen) -> None:
        async def stamped(message: Message) -> None:
            if message["type"] in ("websocket.http.response.start", "websocket.accept"):
                message["headers"] = [*message.get("headers", ()), *self._stamp(seen)]
                seen.call.status = message.get("status", 101)
            await send(message)

        websocket = WebSocket(scope, receive, stamped)
        try:
            if _path(scope) != self._stream_path:
                raise ServiceError(ErrorCode.NOT_FOUND, "There is nothing at this path.")
            sent_by = _sent_by(scope)
            browsers.refuse_foreign(sent_by, stream=True)
            await self._require_knowledge()
            self._admit_stranger(scope, sent_by, seen)
            _refuse_api_key(scope["query_string"], sent_by)
            paying = await self._stream_paid(scope, sent_by, seen)
            seen.call.operation = STREAM
            check = partial(_no_parameters, scope["query_string"])
            stream = self._parts.stream
            seen.call.partner = await stream(websocket, sent_by, check, paying)
        except (ServiceError, StoreUnavailable) as refused:
            error = refused if isinstance(refused, ServiceError) else _at_present(refused, seen)
            seen.refused(error)
            body = encode_json(error.body(seen.call.request_id))
            denial = Response(body, error.status, error.headers, "application/json")
            await websocket.send_denial_response(denial)
        except PaymentNeeded as needed:
            denial = Response(b"{}", 402, needed.headers, "application/json")
            await websocket.send_denial_response(denial)

    async def _stream_paid(
        self, scope: Scope, sent_by: dict[str, str], seen: Seen
    ) -> Caller | None:
        """Takes the payment for an order stream and returns the payer. Returns None if the request
        has credentials or payments are not accepted."""
        if not self._is_paid(PriceTier.STATUS, sent_by):
            return None
        _no_parameters(scope["query_string"])
        async with self._paid(PriceTier.STATUS, scope, seen) as caller:
            return caller

    async def _answer(self, scope: Scope, receive: Receive, seen: Seen) -> _Answer:
        try:
            if self._is_preflight(scope):
                return _PREFLIGHT
            result = await self._handled(scope, receive, seen)
            if isinstance(result, _Answer):
                return result
            data = result if isinstance(result, bytes) else encode_json(result)
            return _Answer(in_dialect(seen.dialect, seen.call.operation, data))
        except ServiceError as error:
            seen.refused(error)
            return _refusal(error, seen.call.request_id, seen.dialect)
        except PaymentNeeded as needed:
            return _unpaid(needed, Headers(scope=scope))
        except StoreUnavailable as unavailable:
            return _refusal(_at_present(unavailable, seen), seen.call.request_id)
        except ClientDisconnect:
            return _GONE
        except Exception:
            # The boundary of a request: whatever went wrong is logged whole and told to nobody.
            logger.exception("request %s failed", seen.call.request_id)
            code = ErrorCode.INTERNAL_SERVER_ERROR
            refused = ServiceError(code, "Something went wrong. Quote the request id to support.")
            return _refusal(refused, seen.call.request_id)

    def _is_preflight(self, scope: Scope) -> bool:
        if scope["method"] != "OPTIONS":
            return False
        if (b"access-control-request-method", b"GET") not in scope["headers"]:
            return False
        try:
            return self._router.find("GET", _path(scope)).operation.access is Access.READ
        except ServiceError:
            return False

    async def _handled(self, scope: Scope, receive: Receive, seen: Seen) -> object:
        sent_by = _sent_by(scope)
        origin = sent_by.get("origin")
        browsers.refuse_foreign(sent_by)
        if _path(scope) == self._stream_path:
            seen.call.operation = STREAM
            raise _no_handshake(scope["method"])
        if _path(scope) == self._ready_path:
            seen.call.operation = READY
            return await self._ready(scope)
        match = self._router.find(scope["method"], _path(scope))
        operation = match.operation
        seen.call.operation = operation.name
        if origin is not None and operation.access is Access.READ:
            seen.page = browsers.EVERY_PAGE
        if operation.access is not Access.OPEN or operation.signed:
            await self._require_knowledge()
        request = Request(scope, receive)
        signed = await self._signed(request, match, seen) if operation.signed else None
        if operation.access is not Access.OPEN:
            self._admit_stranger(scope, sent_by, seen)
            _refuse_api_key(scope["query_string"], sent_by)
        if operation.access is not Access.OPEN and self._is_paid(operation.price_tier, sent_by):
            async with self._paid(operation.price_tier, scope, seen) as payer:
                return await self._carried_out(match, payer, request, seen, origin)
        caller = self._caller(operation, sent_by)
        return await self._carried_out(match, caller, request, seen, origin, signed)

    async def _ready(self, scope: Scope) -> _Answer:
        """Answers the operator's readiness probe, which is not part of the API: 200, or 503 if the
        service is not ready."""
        if scope["method"] != "GET":
            raise _only_get()
        _no_parameters(scope["query_string"])
        standing = await self._parts.readiness.look()
        return _Answer(standing.encoded(), 200 if standing.is_ready else 503)

    async def _carried_out(
        self,
        match: Found,
        caller: Caller | None,
        request: Request,
        seen: Seen,
        origin: str | None,
        signed: tuple[bytes, Delivery] | None = None,
    ) -> object:
        operation = match.operation
        if caller is not None:
            if seen.page and origin is not None:
                # Until it is known to be allowed, the page may not read even the refusal.
                seen.page = ()
                seen.page = browsers.readable_by(origin, caller)
            seen.call.partner = caller.partner.partner_id
            seen.dialect = caller.dialect(self._parts.dialect)
            self._parts.requests.count(caller.partner)
            if not caller.pays:
                at_the_door = _AT_THE_DOOR[operation.rate_class]
                seen.admission = await self._parts.rates.admit(caller, at_the_door)
            if operation.rate_class is RateClass.EXCHANGE:
                return await self._begun(match, caller, request, seen)
        return await self._done(match, caller, request, seen, signed=signed)

    async def _begun(self, match: Found, caller: Caller, request: Request, seen: Seen) -> object:
        """Returns the handler's answer to a call that may begin an exchange. The call is counted
        only if an exchange begins."""
        begins = None if caller.pays else self._parts.rates.counting(caller, RateClass.EXCHANGE)
        try:
            result = await self._done(match, caller, request, seen, begins)
            seen.call.is_repeat = begins is not None and begins.decision is None
            return result
        finally:
            if begins is not None:
                seen.admission = begins.decision or await self._parts.rates.standing(
                    caller, RateClass.EXCHANGE
                )

    async def _done(
        self,
        match: Found,
        caller: Caller | None,
        request: Request,
        seen: Seen,
        begins: CountedCall | None = None,
        signed: tuple[bytes, Delivery] | None = None,
    ) -> object:
        operation = match.operation
        pairs = query_pairs(request.scope["query_string"])
        if operation.access is not Access.OPEN:
            pairs = _without_api_key(pairs)

        if seen.dialect is Dialect.VENDOR and operation.name in _OPEN_QUERIES:
            pairs = known_pairs(operation.query or NoParameters, pairs)
        path = parameters(operation.path_parameters or NoParameters, match.parameters)
        seen.call.order = getattr(path, "service_id", None) or getattr(path, "multi_id", None)
        query = parameters(operation.query or NoParameters, seen.dialect.asked(pairs))
        sent, asked = as_sent([*pairs, *match.parameters]), None
        if operation.body is not None:
            sent = json_object(await raw_body(request) if signed is None else signed[0])
            asked = body(operation.body, sent)
        if isinstance(asked, ConfirmTransactionRequest):
            seen.call.order = asked.id
        try:
            delivery = None if signed is None else signed[1]
            call = RequestContext(caller, path, query, asked, begins, delivery)
            answer = HANDLERS[operation.name](self._parts, call)
            result = await answer if isawaitable(answer) else answer
        except ServiceError as error:
            raise with_values(error, sent) from error.__cause__
        if isinstance(result, Order):
            seen.call.order = result.service_id
        elif isinstance(result, MultiExchange):
            seen.call.order = result.multi_id
        return result

    def _is_paid(self, tier: PriceTier, sent_by: dict[str, str]) -> bool:
        has_credentials = "authorization" in sent_by or "partner-id" in sent_by
        payments = self._parts.payments
        return payments is not None and not has_credentials and payments.priced(tier)

    @asynccontextmanager
    async def _paid(self, tier: PriceTier, scope: Scope, seen: Seen) -> AsyncIterator[Caller]:
        """Reserves the payment and yields the payer. If the ``async with`` block ends normally, the
        payment is settled; if the block raises, the payment can be used again. Raises
        PaymentNeeded. If the settlement fails, the answer must be withheld."""
        payments = self._parts.payments
        assert payments is not None, "asked before"
        headers = Headers(scope=scope)
        url = self._url(scope, headers)
        payment = await payments.accept(headers.get("payment-signature"), tier, url)
        caller = caller_of(payment)
        try:
            seen.admission = await self._parts.rates.admit(caller, RateClass.READ)
            yield caller
        except BaseException:
            await payments.free(payment)
            raise
        response = await payments.settle(payment, tier, url)
        seen.paid = ((b"payment-response", response.encode()),)

    def _url(self, scope: Scope, headers: Headers) -> str:
        front, path = self._parts.front, str(scope["path"])
        if front.public_url:
            return front.public_url + path.removeprefix(front.prefix)
        return f"{scope.get('scheme', 'http')}://{headers.get('host', '')}{path}"

    async def _signed(self, request: Request, match: Found, seen: Seen) -> tuple[bytes, Delivery]:
        """Returns the body and delivery of a webhook request with a valid signature. A refused
        request counts against the rate limit of its address."""
        try:
            source = dict(match.parameters)["source"]
            claimed = self._parts.webhooks.claimed(source, request.headers)
            data = await raw_body(request)
            return data, self._parts.webhooks.verified(claimed, data)
        except ServiceError:
            self._count_stranger(request.scope, seen)
            raise

    async def _require_knowledge(self) -> None:
        """Raises StoreUnavailable if the known API keys may be outdated, and SERVICE_UNAVAILABLE if
        this process's clock is wrong."""
        await self._parts.partners.require()
        if not self._parts.timekeeper.is_right:
            raise ServiceError(ErrorCode.SERVICE_UNAVAILABLE, _NOT_NOW)

    def _admit_stranger(self, scope: Scope, sent_by: dict[str, str], seen: Seen) -> None:
        if "authorization" not in sent_by and "partner-id" not in sent_by:
            self._count_stranger(scope, seen)

    def _count_stranger(self, scope: Scope, seen: Seen) -> None:
        address = (scope.get("client") or ("",))[0]
        seen.admission = self._parts.rates.admit_stranger(address)

    def _caller(self, operation: Operation, sent_by: dict[str, str]) -> Caller | None:
        if operation.access is Access.OPEN:
            return None
        return self._parts.directory.authenticate(
            sent_by, operation.access, writes=operation.writes
        )


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()


def _path(scope: Scope) -> str:
    if b"%2f" in scope.get("raw_path", b"").lower():
        return ""
    path: str = scope["path"]
    return path


def _sent_by(scope: Scope) -> dict[str, str]:
    """Returns the headers that tell who sent a request, by lower-case name. Repeated headers are
    joined, so that a request with two credentials is refused as invalid."""
    sent: dict[str, str] = {}
    for name, value in scope["headers"]:
        header = _SAYS_WHO.get(name)
        if header is not None:
            text = value.decode("latin-1").strip(" \t")
            sent[header] = f"{sent[header]}, {text}" if header in sent else text
    return sent


def _without_api_key(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in pairs if name != NOT_A_CREDENTIAL]


def _no_parameters(query_string: bytes) -> None:
    parameters(NoParameters, _without_api_key(query_pairs(query_string)))


def _refuse_api_key(query_string: bytes, sent_by: dict[str, str]) -> None:
    if "authorization" not in sent_by and names_api_key(query_string):
        raise ServiceError(
            ErrorCode.INVALID_API_CREDENTIALS,
            "An apiKey parameter is not a credential; send the Authorization header.",
        )


def _only_get() -> ServiceError:
    return ServiceError(
        ErrorCode.METHOD_NOT_ALLOWED, "This path answers GET.", headers={"allow": "GET"}
    )


def _no_handshake(method: str) -> ServiceError:
    if method != "GET":
        return _only_get()
    return ServiceError(ErrorCode.BAD_REQUEST, "This path takes a WebSocket handshake, version 13.")


def _unpaid(needed: PaymentNeeded, asked: Headers) -> _Answer:
    headers = [(name.encode(), text.encode()) for name, text in needed.headers.items()]
    person = "text/html" in asked.get("accept", "") and "Mozilla" in asked.get("user-agent", "")
    if not person:
        return _Answer(b"{}", 402, [_JSON, *headers])
    page = [(name.encode(), text.encode()) for name, text in PAGE_HEADERS.items()]
    return _Answer(needed.page().encode(), 402, [*page, *headers])


def _at_present(unavailable: StoreUnavailable, seen: Seen) -> ServiceError:
    logger.warning("store unavailable, request %s: %s", seen.call.request_id, unavailable)
    return ServiceError(ErrorCode.SERVICE_UNAVAILABLE, _NOT_NOW)


def _refusal(error: ServiceError, request_id: str, dialect: Dialect = Dialect.CONTRACT) -> _Answer:
    headers = [
        (name.encode("latin-1"), text.encode("latin-1")) for name, text in error.headers.items()
    ]
    return _Answer(encode_json(error.body(request_id, dialect)), error.status, [_JSON, *headers])
