"""The rules of the transport against a server that misbehaves."""

from __future__ import annotations

import asyncio
import gzip
import random
from collections.abc import Callable

import httpx2
import pytest
from msgspec.structs import replace

import manual_time
from client.rude_server import (
    Behaviour,
    EagerClock,
    Request,
    RudeServer,
    answer,
    drip,
    raw,
    reset,
    silence,
)
from corpus import load
from patience import PATIENCE
from rows import each_row
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials, CredentialsError, OriginAuth, service_url
from swapdesk.client.errors import (
    AccessError,
    AnswerRefused,
    ApiError,
    ClientError,
    Conflict,
    NoAnswer,
    NotFound,
    OutcomeUnknown,
    PaymentRequired,
    RateLimited,
    RequestRefused,
    ServiceFailed,
    Unreachable,
)
from swapdesk.client.exchange_log import ExchangeLog
from swapdesk.client.transport import ApiTransport, RetryPolicy
from swapdesk.wire.exchanges import ExchangeRequest
from swapdesk.wire.operations import BY_NAME

CREDENTIALS = Credentials.of_key("planted-key-1234", "planted-secret-5678")
ORDER = b'{"serviceId": "abc"}'
CREATE = ExchangeRequest(quote_id="q1", address_to="0x1")


def open_api(
    server: RudeServer, clock: EagerClock | None = None, log: ExchangeLog | None = None
) -> PartnerApi:
    return PartnerApi(
        server.url,
        CREDENTIALS,
        clock=clock or EagerClock(),
        rng=random.Random(1),
        exchange_log=log,
    )


def redirect(status: int) -> bytes:
    head = f"HTTP/1.1 {status} Go\r\nlocation: http://127.0.0.1:1/x\r\n"
    return f"{head}content-length: 0\r\n\r\n".encode()


def encoded(encoding: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


BOMB = gzip.compress(gzip.compress(b"\0" * (32 << 20)))
TRUNCATED = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n" + ORDER
CUT_CHUNK = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n14\r\n" + ORDER
BIG_HEADER = b"HTTP/1.1 200 OK\r\nx-big: " + b"a" * 200_000 + b"\r\n\r\n"

LOST = [
    pytest.param(reset, id="reset"),
    pytest.param(raw(b""), id="closed without a word"),
    pytest.param(raw(TRUNCATED), id="truncated 200"),
    pytest.param(raw(CUT_CHUNK), id="cut chunk"),
    pytest.param(raw(BIG_HEADER), id="header of 200 kB"),
    pytest.param(raw(b"\x00\x01garbage\r\n\r\n"), id="no HTTP"),
    pytest.param(raw(b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n"), id="bad length"),
]

REFUSED = [
    *[
        pytest.param(raw(redirect(s)), "redirect", id=f"{s} to another port")
        for s in (301, 302, 303, 307, 308)
    ],
    pytest.param(answer(304, b""), "redirect", id="304"),
    pytest.param(raw(encoded("gzip", gzip.compress(ORDER))), "content_encoding", id="gzip"),
    pytest.param(raw(encoded("gzip, gzip", BOMB)), "content_encoding", id="double gzip bomb"),
    pytest.param(raw(encoded("br", b"x")), "content_encoding", id="br"),
    pytest.param(answer(200, b" " * ((1 << 20) + 1)), "too_large", id="too large"),
    pytest.param(answer(200, b"<html>hi</html>"), "not_json", id="HTML"),
    pytest.param(answer(200, b""), "not_json", id="empty"),
    pytest.param(answer(200, b'{"serviceId":"a","serviceId":"b"}'), "not_json", id="twice"),
    pytest.param(answer(200, b'{"serviceId": 7}'), "wrong_shape", id="number as id"),
    pytest.param(answer(200, b'{"serviceId": "../../x"}'), "wrong_shape", id="path as id"),
    pytest.param(answer(200, b"[]"), "wrong_shape", id="list"),
    pytest.param(answer(200, b"null"), "wrong_shape", id="null"),
    pytest.param(answer(200, b"[" * 1000), "not_json", id="deep"),
    pytest.param(
        answer(200, b'{"serviceId":"a","inAmount":1e999999}'), "wrong_shape", id="decimal bomb"
    ),
    pytest.param(
        answer(200, b'{"serviceId":"a","inAmount":true}'), "wrong_shape", id="true as amount"
    ),
]


async def failure(*behaviours: Behaviour, write: bool) -> tuple[ClientError, int]:
    """Of one call, and how often it was sent."""
    async with RudeServer(*behaviours) as server, open_api(server) as api:
        with pytest.raises(ClientError) as caught:
            await (api.create_exchange(CREATE) if write else api.get_order("abc"))
        return caught.value, len(server.requests)


@each_row("behaviour", LOST)
async def test_a_lost_answer_is_asked_for_again_when_reading_and_never_when_writing(
    behaviour: Behaviour,
) -> None:
    read, times = await failure(behaviour, write=False)
    assert (type(read), read.sent, read.definite, times) == (NoAnswer, True, True, 3)
    written, times = await failure(behaviour, write=True)
    assert (type(written), written.sent, written.definite) == (OutcomeUnknown, True, False)
    assert (type(written.reason), times) == (NoAnswer, 1)


@each_row(("behaviour", "reason"), REFUSED)
async def test_an_unreadable_answer_is_refused_and_leaves_a_write_unknown(
    behaviour: Behaviour, reason: str
) -> None:
    read, times = await failure(behaviour, write=False)
    assert (type(read), read.reason, times) == (AnswerRefused, reason, 1)
    written, times = await failure(behaviour, write=True)
    assert (type(written), times) == (OutcomeUnknown, 1)
    assert (type(written.reason), written.reason.reason) == (AnswerRefused, reason)


DEADLINE = PATIENCE
"""Seconds; only what :data:`Endless` lets pass comes so far."""
Endless = Callable[[Behaviour], Behaviour]


@pytest.fixture
async def endless(monkeypatch: pytest.MonkeyPatch) -> Endless:
    """Makes more than the deadline pass once a request has arrived, however quick the machine."""
    loop = asyncio.get_running_loop()
    real, passed = loop.time, 0.0
    monkeypatch.setattr(loop, "time", lambda: real() + passed)

    async def pass_on() -> None:
        nonlocal passed
        for _ in range(6):
            await manual_time.rest()
            passed += DEADLINE / 5

    def made(behaviour: Behaviour) -> Behaviour:
        async def behave(request: Request, writer: asyncio.StreamWriter) -> None:
            passing = asyncio.create_task(pass_on())
            try:
                await behaviour(request, writer)
            finally:
                passing.cancel()

        return behave

    return made


@pytest.mark.parametrize("behaviour", [drip, silence], ids=["drip", "silence"])
@pytest.mark.parametrize("name", ["get_rate_limits", "create_exchange"])
async def test_the_deadline_is_for_the_whole_answer(
    behaviour: Behaviour, name: str, endless: Endless
) -> None:
    operation = replace(BY_NAME[name], deadline=DEADLINE)
    policy = RetryPolicy(reading=9 * DEADLINE)
    async with RudeServer(endless(behaviour)) as server:
        transport = ApiTransport(server.url, CREDENTIALS, clock=EagerClock(), policy=policy)
        body = b"{}" if operation.writes else None
        # Neither of the two ever ends by itself.
        with pytest.raises(OutcomeUnknown if operation.writes else NoAnswer):
            await transport.send(operation, body=body)
        assert len(server.requests) == (1 if operation.writes else 3)
        await transport.aclose()


@pytest.mark.parametrize("behaviour", [drip, silence], ids=["drip", "silence"])
async def test_all_attempts_to_read_have_one_deadline(
    behaviour: Behaviour, endless: Endless
) -> None:
    operation = replace(BY_NAME["get_quotes"], deadline=9 * DEADLINE)
    policy = RetryPolicy(reading=DEADLINE)
    async with RudeServer(endless(behaviour)) as server:
        transport = ApiTransport(server.url, CREDENTIALS, clock=EagerClock(), policy=policy)
        with pytest.raises(NoAnswer, match=f"no answer within {DEADLINE:g} s"):
            await transport.send(operation)
        assert len(server.requests) == 1
        await transport.aclose()
    assert RetryPolicy().reading == 30.0


async def nothing_is_sent(api: PartnerApi) -> None:
    for call in (api.get_order("abc"), api.create_exchange(CREATE)):
        with pytest.raises(Unreachable) as caught:
            await call
        assert (caught.value.sent, caught.value.definite) == (False, True)


async def test_nothing_is_sent_when_nobody_listens() -> None:
    async with RudeServer(reset) as server:
        url = server.url
    async with PartnerApi(url, CREDENTIALS, clock=EagerClock()) as api:
        await nothing_is_sent(api)


async def nobody(request: httpx2.Request) -> httpx2.Response:
    raise AssertionError(f"{request.url} was asked for")


@each_row("transport", [None, httpx2.MockTransport(nobody)])
async def test_a_closed_client_sends_nothing_and_says_so_at_once(
    transport: httpx2.AsyncBaseTransport | None,
) -> None:
    async with RudeServer(answer(200, ORDER)) as server:
        clock = EagerClock()
        api = PartnerApi(server.url, CREDENTIALS, clock=clock, transport=transport)
        await api.aclose()
        began = clock.monotonic()
        await nothing_is_sent(api)
        assert clock.monotonic() == began
        assert server.requests == []


@pytest.mark.parametrize("name", ["get_order", "create_exchange"])
async def test_a_client_closed_under_a_call_leaves_a_write_unknown(name: str) -> None:
    arrived = asyncio.Event()

    async def fall_silent(request: Request, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await silence(request, writer)

    async with RudeServer(fall_silent) as server:
        api = open_api(server)
        creates = name == "create_exchange"
        call = asyncio.create_task(api.create_exchange(CREATE) if creates else api.get_order("abc"))
        async with asyncio.timeout(PATIENCE):
            await arrived.wait()
            await api.aclose()
            with pytest.raises(OutcomeUnknown if creates else NoAnswer):
                await call
        assert len(server.requests) == 1


async def test_a_server_that_never_speaks_tls_got_nothing() -> None:
    async with RudeServer(silence) as server:
        url = server.url.replace("http://", "https://")
        transport = ApiTransport(url, CREDENTIALS, clock=EagerClock())
        with pytest.raises(Unreachable):
            await transport.send(replace(BY_NAME["create_exchange"], deadline=0.15), body=b"{}")
        await transport.aclose()


ERRORS = [
    (400, "BAD_REQUEST", ApiError),
    (400, "TOKEN_NOT_FOUND", NotFound),
    (401, "INVALID_API_CREDENTIALS", AccessError),
    (401, "PARTNER_ID_NOT_SUPPORTED", AccessError),
    (402, None, PaymentRequired),
    (403, "ACCESS_DENIED", AccessError),
    (403, "SOMETHING_NEW", AccessError),
    (404, "TOKEN_DISABLED", NotFound),
    (404, None, NotFound),
    (404, "INVALID_SWAP", ApiError),
    (405, "METHOD_NOT_ALLOWED", ApiError),
    (408, None, ApiError),
    (409, "STATIC_DEPOSIT_IN_USE", Conflict),
    (413, "PAYLOAD_TOO_LARGE", ApiError),
    (418, "TEAPOT", ApiError),
    (422, "VALIDATION_ERROR", ApiError),
    (422, "AMOUNT_TOO_LOW", ApiError),
    (422, "SOMETHING_NEW", ApiError),
    (500, "INTERNAL_SERVER_ERROR", ServiceFailed),
    (502, "PROVIDER_EXCHANGE_FAILED", ServiceFailed),
    (503, "VALIDATION_ERROR", ServiceFailed),
    (504, None, ServiceFailed),
]


@each_row(("status", "code", "kind"), ERRORS)
async def test_an_error_has_the_class_of_its_code_or_status(status, code, kind) -> None:
    body = {"message": "no", "code": code, "requestId": "r-1"} if code else {}
    read, _ = await failure(answer(status, body), write=False)
    assert (type(read), read.status, read.code) == (kind, status, code)
    written, times = await failure(answer(status, body), write=True)
    assert (written.status, written.code, times) == (status, code, 1)
    # A request that was too slow may have been carried out all the same.
    unknown = status >= 500 or status == 408
    assert (type(written), written.definite) == (OutcomeUnknown if unknown else kind, not unknown)


@each_row(
    "body",
    [
        b"<html>\x1b[2Jbad gateway</html>",
        b"",
        b"[1]",
        b'{"name":"Error","message":"old","code":422}',
        b'{"code":{"a":1},"message":7,"fields":[1]}',
        b'{"code":"\\u001b[2J","message":"x"}',
        b" " * (64 * 1024 + 1),
    ],
)
async def test_an_error_body_that_is_none_leaves_the_status(body: bytes) -> None:
    error, _ = await failure(answer(404, body), write=False)
    assert (type(error), error.code) == (NotFound, None)
    assert str(error).isprintable()


async def test_a_validation_error_tells_fields_and_request_id_in_safe_text() -> None:
    body = {
        "message": "Validation \u001b[31mFailed",
        "code": "VALIDATION_ERROR",
        "fields": {"amount": {"message": "bad \u202e", "value": "1,5"}, "x": 3},
    }
    headers = {"x-request-id": "req-9"}
    error, _ = await failure(answer(422, body, headers), write=False)
    assert error.request_id == "req-9"
    assert error.message == "Validation <U+001B>[31mFailed"
    assert error.fields["amount"].message == "bad <U+202E>"
    assert error.fields["amount"].value == "1,5"
    assert list(error.fields) == ["amount"]


LIMITED = answer(429, {"code": "RATE_LIMIT_EXCEEDED", "message": "x"}, {"retry-after": "7"})


@each_row(
    ("failures", "write", "waits"),
    [
        pytest.param([answer(503, {}), reset], False, [(0.0, 0.5), (0.0, 1.0)], id="jitter"),
        pytest.param([LIMITED], False, [(7.0, 7.5)], id="429"),
        pytest.param([LIMITED], True, [(7.0, 7.0)], id="429 of a write"),
    ],
)
async def test_a_call_is_repeated_after_the_time_told_or_with_jitter(
    failures: list[Behaviour], write: bool, waits: list[tuple[float, float]]
) -> None:
    clock = EagerClock()
    async with (
        RudeServer(*failures, answer(200, ORDER)) as server,
        open_api(server, clock) as api,
    ):
        order = (await api.create_exchange(CREATE)).made if write else await api.get_order("abc")
        assert order.service_id == "abc"
        assert len(server.requests) == len(failures) + 1
    for slept, (least, most) in zip(clock.slept, waits, strict=True):
        assert least <= slept <= most


@each_row(
    ("headers", "body", "told", "reads", "writes"),
    [
        ({}, {}, None, 3, 1),
        ({"retry-after": "5"}, {}, 5.0, 3, 2),
        ({"retry-after": "4.2"}, {}, 4.2, 3, 2),
        ({}, {"retryAfter": 5, "code": "RATE_LIMIT_EXCEEDED", "message": ""}, 5.0, 3, 2),
        ({"retry-after": "61"}, {}, 61.0, 1, 1),
        ({"retry-after": "9" * 40}, {}, 1e9, 1, 1),
        *(
            ({"retry-after": case.text}, {}, float(case.expect["seconds"]), 1, 1)
            for case in load("retry_after", name="times")
        ),
        ({"retry-after": "-3"}, {}, None, 3, 1),
        ({"retry-after": "soon"}, {}, None, 3, 1),
        ({"retry-after": "Fri, 20 Nov 2026 14:02:21 GMT"}, {}, 10.0, 3, 2),
    ],
)
async def test_429_for_ever_ends_after_few_tries(headers, body, told, reads, writes) -> None:
    for write, expected in ((False, reads), (True, writes)):
        error, times = await failure(answer(429, body, headers), write=write)
        assert (type(error), error.definite, times) == (RateLimited, True, expected)
        # A date is that of a clock which went on meanwhile.
        assert error.retry_after == told or told == 10.0


async def test_a_wait_that_nobody_sits_out_is_kept_by_whoever_asks_next() -> None:
    clock = EagerClock()
    limited = answer(429, {}, {"retry-after": "61.5"})
    async with (
        RudeServer(limited, answer(200, ORDER)) as server,
        open_api(server, clock) as api,
    ):
        for passed, left in ((0.0, 61.5), (0.0, 61.5), (30.0, 31.5), (31.0, 0.5)):
            clock.advance(passed)
            with pytest.raises(RateLimited) as caught:
                await api.get_order("abc")
            assert caught.value.retry_after == left
        assert len(server.requests) == 1
        clock.advance(0.5)
        assert (await api.get_order("abc")).service_id == "abc"


async def test_retries_have_a_shared_budget() -> None:
    async with RudeServer(answer(503, {})) as server, open_api(server) as api:
        for _ in range(50):
            with pytest.raises(ServiceFailed):
                await api.get_order("abc")
        # 10 in reserve and a tenth of 50 calls, whatever each of them would have liked.
        assert 60 <= len(server.requests) <= 66


async def test_only_the_service_gets_credentials_and_nothing_else_is_sent() -> None:
    cookie = {"set-cookie": "a=b; Path=/"}
    health = b'{"status":"ok","version":"1","time":"2026-11-20T14:02:11Z"}'
    async with (
        RudeServer(answer(200, ORDER, cookie), answer(200, ORDER), answer(200, health)) as server,
        open_api(server) as api,
    ):
        await api.get_order("abc")
        await api.create_exchange(CREATE)
        await api.health()
        first, second, third = server.requests
    assert first.headers["authorization"] == "planted-key-1234:planted-secret-5678"
    assert first.headers["accept-encoding"] == "identity"
    assert first.target == "/v2/orders/abc"
    assert second.headers["content-type"] == "application/json"
    assert second.body == b'{"quoteId":"q1","addressTo":"0x1"}'
    assert "cookie" not in second.headers
    assert "authorization" not in third.headers


@each_row(
    ("url", "told"),
    [
        ("https://api.example.com/v2/chains", True),
        ("https://api.example.com:443/v2/chains", True),
        ("https://api.example.com:444/v2/chains", False),
        ("http://api.example.com/v2/chains", False),
        ("https://evil.example/v2/chains", False),
        ("https://api.example.com.evil.example/v2/chains", False),
    ],
)
def test_credentials_are_told_to_their_origin_alone(url: str, told: bool) -> None:
    auth = OriginAuth(CREDENTIALS, service_url("https://api.example.com"))
    request = next(auth.auth_flow(httpx2.Request("GET", url)))
    assert ("authorization" in request.headers) == told


def test_a_partner_id_goes_alone() -> None:
    assert Credentials.read_only("p-1").headers() == {"partner-id": "p-1"}


async def test_the_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with RudeServer(answer(200, ORDER)) as server, open_api(server) as api:
        assert (await api.get_order("abc")).service_id == "abc"


@each_row("bad", ["../../admin", "a?x=1", "a#f", "a/b", "%2e", "", "x" * 65, "é"])
async def test_an_id_that_is_none_is_not_sent(bad: str) -> None:
    async with RudeServer(answer(200, ORDER)) as server, open_api(server) as api:
        with pytest.raises(RequestRefused) as caught:
            await api.get_order(bad)
        assert not caught.value.sent
        assert server.requests == []


@each_row(
    "url",
    [
        "http://api.example.com/v2",
        "ftp://127.0.0.1/v2",
        "https://",
        "api.example.com",
        "https://user:pw@api.example.com",
        "https://api.example.com/v2?x=1",
        "http://127.0.0.1.evil.example/v2",
        "",
        "https://[",
    ],
)
def test_an_address_that_is_unsafe_is_refused(url: str) -> None:
    with pytest.raises(CredentialsError):
        service_url(url)


@each_row(
    ("url", "kept"),
    [
        ("https://api.example.com", "https://api.example.com/v2"),
        ("https://api.example.com/v2/", "https://api.example.com/v2"),
        ("http://localhost:8080/base", "http://localhost:8080/base/v2"),
        ("http://[::1]:80/v2", "http://[::1]/v2"),
    ],
)
def test_the_version_is_part_of_the_address(url: str, kept: str) -> None:
    assert str(service_url(url)) == kept


@each_row("bad", ["a\r\nx: y", "a b", "", "clé", "a\x00"])
def test_credentials_cannot_break_a_header(bad: str) -> None:
    for make in (
        lambda: Credentials.of_key(bad, "s"),
        lambda: Credentials.of_key("k", bad),
        lambda: Credentials.read_only(bad),
    ):
        with pytest.raises(CredentialsError):
            make()
    with pytest.raises(CredentialsError):
        Credentials.of_key("a:b", "s")


async def test_the_time_of_the_service_comes_from_the_newest_date() -> None:
    dated = answer(200, ORDER, {"date": "Fri, 20 Nov 2026 15:02:11 GMT"})
    async with RudeServer(dated) as server, open_api(server) as api:
        assert api.skew() is None
        await api.get_order("abc")
        assert api.skew() == pytest.approx(3600.5, abs=0.6)


async def test_secrets_are_in_no_repr_log_or_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    log = ExchangeLog()
    echo = answer(400, {"code": "BAD_REQUEST", "message": "you sent planted-secret-5678"})
    html = answer(200, b"<p>planted-secret-5678</p>", {"authorization": "planted-secret-5678"})
    async with RudeServer(echo, html) as server, open_api(server, log=log) as api:
        with pytest.raises(ApiError):
            await api.get_order("abc")
        with pytest.raises(AnswerRefused):
            await api.get_order("abc")
        shown = repr(CREDENTIALS) + repr(vars(api)) + repr(list(log)) + caplog.text
    assert len(log) == 2
    assert "planted-secret" not in shown
    assert "planted-key" not in shown
    assert [entry.outcome for entry in log] == ["ApiError", ""]
