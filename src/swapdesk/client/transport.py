"""One long-lived HTTP client with fixed rules. It follows no redirects, takes no proxy or
certificate settings from the environment, keeps no cookies and accepts no content encoding. Each
attempt has a deadline, each body has a size limit, and credentials go to one origin only.

Reading calls are repeated a few times, within a shared budget. A writing call is repeated only
after a 429 that says when to try again. The class of the error says what a failed call means for
the money: nothing was sent, nothing was carried out, or the outcome is unknown. The bodies of
errors are read as far as possible: the contract's form, older forms with an integer code, HTML or
nothing (contract 3.3).
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Annotated, Any, Self
from urllib.parse import urlencode

import httpx2
from msgspec import Struct
from msgspec.structs import replace

from swapdesk import __version__
from swapdesk.certificates import certificates
from swapdesk.client.budget import Budget, OwnCalls
from swapdesk.client.credentials import Credentials, OriginAuth, service_url
from swapdesk.client.errors import (
    AnswerRefused,
    ApiError,
    ClientError,
    NoAnswer,
    OutcomeUnknown,
    PaymentRequired,
    RateLimited,
    RequestRefused,
    ServiceFailed,
    Unreachable,
    api_error,
)
from swapdesk.client.exchange_log import ExchangeLog
from swapdesk.client.payments import (
    BETWEEN_PAYMENTS,
    PAID_SECONDS,
    REQUIRED,
    RESPONSE,
    SIGNATURE,
    CallAuthorization,
    PaysCalls,
    read_required,
)
from swapdesk.client.server_clock import ServerClock
from swapdesk.clock import Clock
from swapdesk.keepalive import CLIENT_SECONDS
from swapdesk.wire.encoding.codec import CodecError, decode_json, validate
from swapdesk.wire.encoding.ids import safe_segment
from swapdesk.wire.encoding.numbers import WireNumber
from swapdesk.wire.encoding.text import Identity, UnsafeText, safe_text
from swapdesk.wire.encoding.timestamps import LONGEST_HOLD, retry_after
from swapdesk.wire.errors import FieldProblem
from swapdesk.wire.operation import Access, Operation

_NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
)
# A 4xx that a writing call may also get after it was taken up.
_UNSURE_4XX = frozenset({408, 425, 499})
ERROR_LIMIT = 64 * 1024
_MAX_FIELDS = 50


class RetryPolicy(Struct, frozen=True):
    """The rules for repeating calls. Times are in seconds. ``attempts`` includes the first one."""

    attempts: int = 3
    base: float = 0.5
    cap: float = 20.0
    longest_retry_after: float = 60.0
    reading: float = 30.0
    """The most seconds for all attempts at one reading call, without the waits between."""

    def wait(
        self, error: ClientError, attempt: int, *, writes: bool, rng: random.Random
    ) -> float | None:
        """Returns the seconds before the next attempt; None to give up. A writing call is repeated
        only once, after a 429 that says how long to wait: such an answer proves that nothing was
        carried out."""
        stated = error.retry_after if isinstance(error, ApiError) else None
        if stated is not None and stated > self.longest_retry_after:
            return None
        if writes:
            return stated if isinstance(error, RateLimited) and attempt == 1 else None
        if attempt >= self.attempts:
            return None
        if not isinstance(error, Unreachable | NoAnswer | RateLimited | ServiceFailed):
            return None
        # The jitter grows 1, 2, ... times the base, so that 0.5 s is the first wait's bound.
        jitter = rng.uniform(0.0, min(self.cap, self.base * 2.0 ** (attempt - 1)))
        return jitter if stated is None else stated + jitter


class Repeat(Struct, frozen=True):
    """A call that is about to be sent again, as attempt ``attempt`` of at most ``of``, after
    ``wait`` seconds, because of ``error``."""

    attempt: int
    of: int
    wait: float
    error: ClientError


OnRepeat = Callable[[Repeat], bool]
"""Called before the wait. False prevents the repetition, and the last error is raised."""


class RetryBudget:
    """A number of retries that all calls of a client share, to spare a failing service. Each call
    adds a tenth of a retry."""

    def __init__(self, *, share: float = 0.1, reserve: float = 10.0) -> None:
        self._share = share
        self._most = reserve
        self.left = reserve

    def earn(self) -> None:
        self.left = min(self._most, self.left + self._share)

    def spend(self) -> bool:
        """Uses up one retry; returns False if none is left."""
        if self.left < 1.0:
            return False
        self.left -= 1.0
        return True


class AttemptProgress:
    """The state of one attempt: whether the request was sent, and what was received."""

    def __init__(self, operation: Operation, *, sent: bool) -> None:
        self.operation = operation
        self.sent = sent
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.body = b""

    async def trace(self, event: str, info: Mapping[str, object]) -> None:
        if event.endswith("send_request_headers.started"):
            self.sent = True


def as_outcome(operation: Operation, error: AnswerRefused | ApiError) -> ClientError:
    """Returns the error to raise: :class:`OutcomeUnknown` if a writing call may have been carried
    out, otherwise ``error``."""
    unsure = isinstance(error, AnswerRefused | ServiceFailed) or error.status in _UNSURE_4XX
    return OutcomeUnknown(operation.name, error) if operation.writes and unsure else error


def lost(operation: Operation, error: Exception, *, sent: bool) -> ClientError:
    """Returns the error for a missing answer: Unreachable if nothing was sent, else OutcomeUnknown
    for a writing call and NoAnswer for a reading one."""
    # The texts of other libraries may quote the address with its query; the kind is enough.
    kind = type(error).__name__
    if isinstance(error, _NOT_SENT) or not sent:
        certificate = isinstance(error.__cause__, ssl.SSLError) or "CERTIFICATE" in str(error)
        why = "the certificate was not accepted" if certificate else "no connection"
        return Unreachable(f"{operation.name}: {why} ({kind})", sent=False)
    late = isinstance(error, TimeoutError)
    why = f"no answer within {operation.deadline:g} s" if late else f"the answer broke off ({kind})"
    unanswered = NoAnswer(f"{operation.name}: {why}")
    return OutcomeUnknown(operation.name, unanswered) if operation.writes else unanswered


def refusal_of(status: int, headers: Mapping[str, str], body: bytes, now: datetime) -> ApiError:
    """Returns the error for a status of 400 or above. ``now`` is the service's time."""
    request_id = request_id_of(headers)
    wait = retry_after(headers.get("retry-after"), now, headers.get("date"))
    try:
        document = decode_json(body, side="client", max_bytes=ERROR_LIMIT)
    except CodecError:
        document = None
    if not isinstance(document, dict):
        return api_error(status, request_id=request_id, retry_after=wait)
    if wait is None:
        wait = retry_after(str(document.get("retryAfter", "")), now)
    code = document.get("code")
    message = document.get("message")
    return api_error(
        status,
        None if isinstance(code, WireNumber) else _identity(code, 64),
        safe_text(message, 1000) if isinstance(message, str) else "",
        request_id or _identity(document.get("requestId"), 128),
        _fields(document.get("fields")),
        wait,
    )


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """Returns the service's id of the request; None if missing or not safe to show."""
    return _identity(headers.get("x-request-id"), 128)


def _identity(value: object, limit: int) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        return validate(Annotated[str, Identity(limit)], value, side="client")  # type: ignore[arg-type]
    except CodecError:
        return None


def _fields(problems: Any) -> dict[str, FieldProblem]:
    if not isinstance(problems, dict):
        return {}
    fields: dict[str, FieldProblem] = {}
    for name, problem in list(problems.items())[:_MAX_FIELDS]:
        try:
            fields[safe_text(name, 100)] = validate(FieldProblem, problem, side="client")
        except CodecError:
            continue
    return fields


class RawAnswer(Struct, frozen=True):
    """A successful answer (status 200 to 299), received completely but not decoded. Header names
    are lower case."""

    operation: Operation
    status: int
    headers: Mapping[str, str]
    body: bytes
    request_id: str | None
    payment: CallAuthorization | None = None


class ApiTransport:
    """Sends operations over one connection pool and raises only :mod:`swapdesk.client.errors`.
    ``base_url`` may lack ``/v2``. ``transport`` replaces the network; ``payer`` pays for calls that
    are answered with 402."""

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
        self._url = service_url(base_url)
        self.url = str(self._url)
        """The address in use, ending in ``/v2``."""
        self.credentials = credentials
        self.server = server or ServerClock.over(clock)
        """A clock that shows the service's time."""
        self.budget = Budget(self.server.now, own_calls)
        self._clock = clock
        self._rng = rng or random.Random()
        self._log = exchange_log
        self._policy = policy or RetryPolicy()
        self._payer = payer
        self._paying = asyncio.Lock()
        self._pays_from = 0.0
        self._held: dict[str, tuple[datetime, ApiError]] = {}
        """Reading operations that the service asked not to send for a while: the end of the wait,
        by its time, and its refusal."""
        self.retries = RetryBudget()
        if exchange_log is not None:
            exchange_log.hide(*credentials.secrets())
        self._foreign_transport = transport is not None
        _keep_quiet("httpx2", "httpcore2")
        self._http = httpx2.AsyncClient(
            transport=transport,
            verify=certificates(self._url),
            auth=OriginAuth(credentials, self._url),
            trust_env=False,
            follow_redirects=False,
            timeout=None,
            limits=httpx2.Limits(
                max_connections=100, max_keepalive_connections=20, keepalive_expiry=CLIENT_SECONDS
            ),
            cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                "User-Agent": f"swapdesk/{__version__}",
            },
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def send(
        self,
        operation: Operation,
        *,
        path: Mapping[str, str] | None = None,
        query: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
        until: datetime | None = None,
        on_repeat: OnRepeat | None = None,
    ) -> RawAnswer:
        """Sends one call and repeats it as the retry policy says, never at or after ``until``.
        During a long wait that the service asked for, a reading call is not sent, and the service's
        last refusal is raised."""
        target = self._target(operation, path or {}, query)
        if operation.name in self._held:
            free_from, refused = self._held[operation.name]
            if (left := (free_from - self.server.now()).total_seconds()) > 0:
                raise refused.again(left)
        self.retries.earn()
        attempt = 1
        loop = asyncio.get_running_loop()
        left = math.inf if operation.writes else self._policy.reading
        while True:
            began = loop.time()
            if left < operation.deadline:
                operation = replace(operation, deadline=round(left, 1) or left)
            try:
                return await self._attempt(operation, target, body, attempt)
            except PaymentRequired as unpaid:
                if self._payer is None:
                    raise
                try:
                    return await self._paid(operation, target, body, attempt, unpaid)
                except ClientError as error:
                    await self.look(error)
                    raise
            except ClientError as error:
                left -= loop.time() - began
                if left <= 0:
                    raise
                self._hold(operation, error)
                wait = self._policy.wait(error, attempt, writes=operation.writes, rng=self._rng)
                if wait is None or self._http.is_closed or self._over(until, wait):
                    raise
                repeat = Repeat(attempt + 1, self._policy.attempts, wait, error)
                if on_repeat is not None and not on_repeat(repeat):
                    raise
                if not self.retries.spend():
                    raise
                await self._clock.sleep(wait)
                # A machine that slept meanwhile waited longer than it was told to.
                if self._over(until):
                    raise
            attempt += 1

    def _hold(self, operation: Operation, error: ClientError) -> None:
        if operation.writes or not isinstance(error, ApiError):
            # What writes is sent by a person's word alone.
            return
        wait = error.retry_after or 0.0
        if wait > self._policy.longest_retry_after:
            free_from = self.server.now() + timedelta(seconds=min(wait, LONGEST_HOLD))
            self._held[operation.name] = free_from, error

    async def _paid(
        self,
        operation: Operation,
        target: str,
        body: bytes | None,
        attempt: int,
        unpaid: PaymentRequired,
    ) -> RawAnswer:
        """Pays the price that the service asks for, and sends the call once more. Never pays twice
        for a call, because the first payment may have been executed although no answer came."""
        assert self._payer is not None
        async with self._paying:
            await self._clock.sleep(max(0.0, self._pays_from - self._clock.monotonic()))
            header, payment = await self._payer.pay(read_required(unpaid.required), operation)
            paid = replace(operation, deadline=max(operation.deadline, PAID_SECONDS))
            settled = False
            try:
                answer = await self._attempt(paid, target, body, attempt + 1, header, payment)
                settled = RESPONSE in answer.headers
                return replace(answer, payment=payment)
            except ClientError as error:
                if error.sent:
                    error.payment = payment
                raise
            finally:
                if not settled:
                    self._pays_from = self._clock.monotonic() + BETWEEN_PAYMENTS

    async def look(self, error: ClientError) -> None:
        """Reads from the chain whether the payment of a failed call was executed, and updates
        ``error.payment``."""
        if error.payment is not None and self._payer is not None:
            error.payment = await self._payer.look(error.payment)

    def _over(self, until: datetime | None, wait: float = 0.0) -> bool:
        return until is not None and self._clock.now() + timedelta(seconds=wait) >= until

    def _target(
        self, operation: Operation, path: Mapping[str, str], query: Sequence[tuple[str, str]]
    ) -> str:
        segments = []
        for segment in operation.path.split("/"):
            name = segment[1:-1] if segment.startswith("{") else None
            try:
                segments.append(segment if name is None else safe_segment(path[name]))
            except UnsafeText as error:
                raise RequestRefused(f"{operation.name}: {error}") from None
        base = self._url.raw_path.decode("ascii").rstrip("/")
        written = urlencode(list(query))
        return base + "/".join(segments) + (f"?{written}" if written else "")

    async def _attempt(
        self,
        operation: Operation,
        target: str,
        body: bytes | None,
        attempt: int,
        header: str | None = None,
        payment: CallAuthorization | None = None,
    ) -> RawAnswer:
        headers = {} if body is None else {"Content-Type": "application/json"}
        if header is not None:
            headers[SIGNATURE] = header
        request = self._http.build_request(
            operation.method,
            self._url.copy_with(raw_path=target.encode("ascii")),
            content=body,
            headers=headers,
        )
        known_sent = self._foreign_transport and not self._http.is_closed
        progress = AttemptProgress(operation, sent=known_sent)
        request.extensions["trace"] = progress.trace
        at, began = self.server.now(), self._clock.monotonic()
        error: ClientError | None = None
        try:
            return await self._exchange(operation, request, progress, began)
        except ClientError as raised:
            error = raised
            raise
        finally:
            # An answer that was lost may have been charged all the same.
            if progress.sent and progress.status != 429:
                self.budget.count(operation.rate_class)
            if progress.status is not None:
                self.budget.tell(operation.rate_class, progress.headers)
            if self._log is not None:
                outcome = type(error).__name__ if error is not None else ""
                if error is None and progress.status is None:
                    outcome = "Cancelled"
                self._log.record(
                    at=at,
                    operation=operation.name,
                    method=operation.method,
                    target=target,
                    attempt=attempt,
                    request_headers=request.headers,
                    request_body=body or b"",
                    status=progress.status,
                    request_id=progress.headers.get("x-request-id"),
                    answer_headers=progress.headers,
                    answer_body=progress.body,
                    ms=(self._clock.monotonic() - began) * 1000.0,
                    outcome=outcome,
                    paid="" if payment is None else payment.words,
                )

    async def _exchange(
        self, operation: Operation, request: httpx2.Request, progress: AttemptProgress, began: float
    ) -> RawAnswer:
        try:
            async with asyncio.timeout(operation.deadline):
                await self._receive(operation, request, progress, began)
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError) as error:
            raise lost(operation, error, sent=progress.sent) from error
        except RuntimeError as error:
            # How httpx2 says that the client was closed, before the request or under it.
            if not self._http.is_closed:
                raise
            if not progress.sent:
                raise Unreachable(f"{operation.name}: the connection was closed") from error
            raise lost(operation, error, sent=True) from error
        except AnswerRefused as error:
            raise as_outcome(operation, error) from None
        assert progress.status is not None
        if progress.status >= 400:
            refusal = refusal_of(
                progress.status, progress.headers, progress.body, self.server.now()
            )
            if isinstance(refusal, PaymentRequired):
                refusal.required = progress.headers.get(REQUIRED)
                refusal.message = read_required(refusal.required).reason
            raise as_outcome(operation, refusal)
        return RawAnswer(
            operation=operation,
            status=progress.status,
            headers=progress.headers,
            body=progress.body,
            request_id=request_id_of(progress.headers),
        )

    async def _receive(
        self, operation: Operation, request: httpx2.Request, progress: AttemptProgress, began: float
    ) -> None:
        anonymous = httpx2.Auth() if operation.access is Access.OPEN else httpx2.USE_CLIENT_DEFAULT
        answer = await self._http.send(request, stream=True, auth=anonymous)
        try:
            progress.sent = True
            progress.status = answer.status_code
            progress.headers = answer.headers
            self.server.observe(
                answer.headers.get("date"), sent=began, received=self._clock.monotonic()
            )
            if answer.status_code < 200 or 300 <= answer.status_code < 400:
                raise _refused(progress, "redirect", f"answered {answer.status_code}")
            encoding = answer.headers.get("content-encoding", "").strip().lower()
            if encoding not in ("", "identity"):
                if answer.status_code >= 400:
                    return
                raise _refused(progress, "content_encoding", "the answer is encoded")
            failed = answer.status_code >= 400
            limit = ERROR_LIMIT if failed else operation.result_limit
            taken = bytearray()
            async for chunk in _chunks(answer):
                taken += chunk
                if len(taken) > limit:
                    progress.body = bytes(taken[:1024])
                    if failed:
                        return
                    raise _refused(progress, "too_large", f"the answer exceeds {limit} bytes")
            progress.body = bytes(taken)
        finally:
            await answer.aclose()


async def _chunks(answer: httpx2.Response) -> AsyncIterator[bytes]:
    if answer.is_stream_consumed:
        yield answer.content
        return
    async for chunk in answer.aiter_raw():
        yield chunk


def _refused(progress: AttemptProgress, reason: str, message: str) -> AnswerRefused:
    return AnswerRefused(
        f"{progress.operation.name}: {message}",
        reason,
        progress.status or 0,
        request_id_of(progress.headers),
    )


def refuse_answer(answer: RawAnswer, reason: str, message: str) -> ClientError:
    """Returns the error for a complete answer with unusable content. ``reason`` is ``not_json``,
    ``wrong_shape`` or ``other_id``."""
    message = f"{answer.operation.name}: {message}"
    refused = AnswerRefused(message, reason, answer.status, answer.request_id)
    error = as_outcome(answer.operation, refused)
    error.payment = answer.payment
    return error


def _keep_quiet(*names: str) -> None:
    for name in names:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)
