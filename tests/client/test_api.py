"""The typed methods against a scripted service and the real one, the table of operations, and calls
by method and path."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct

from cli.newer_answers import KINDS, Newer, between
from client.rude_server import EagerClock, RudeServer, answer
from corpus import Case, load
from rows import each_row
from service.orders_fixtures import BTC as BTC_ADDRESS
from service.orders_fixtures import venues_at
from service.plain_bundler import PlainBundler
from service.world import BTC, ETH, TOKENS
from swapdesk import wire
from swapdesk.chain.smart_account import account_address
from swapdesk.client import api
from swapdesk.client.api import PartnerApi, find_operation
from swapdesk.client.credentials import Credentials
from swapdesk.client.errors import (
    AnswerRefused,
    ApiError,
    ClientError,
    OutcomeUnknown,
    RequestRefused,
)
from swapdesk.clock import ManualClock
from swapdesk.service.app import Onchain
from swapdesk.wire.account import ChartMetric, ChartQuery, CommissionQuery
from swapdesk.wire.chains import ChainQuery
from swapdesk.wire.choices import RouteType
from swapdesk.wire.encoding.codec import decode, encode_json
from swapdesk.wire.exchanges import ExchangeRequest, PrivateSendRequest
from swapdesk.wire.multi import (
    MultiBuildRequest,
    MultiExchangeRequest,
    MultiOrderRequest,
    MultiSubmitRequest,
)
from swapdesk.wire.operations import BODY_LIMIT, OPERATIONS
from swapdesk.wire.orders import Order, OrderQuery
from swapdesk.wire.quotes import PairLimitsQuery, PrivateSendQuery, QuoteQuery
from swapdesk.wire.tokens import TokenQuery
from world import World, open_world

CREDENTIALS = Credentials.of_key("key-1", "secret-1")


def open_api(server: RudeServer) -> PartnerApi:
    return PartnerApi(server.url, CREDENTIALS, clock=EagerClock())


def test_there_is_one_method_per_operation_and_no_other() -> None:
    methods = {
        name
        for name, member in vars(PartnerApi).items()
        if inspect.iscoroutinefunction(member) and not name.startswith("_")
    }
    called = {operation.name for operation in OPERATIONS if not operation.signed}
    assert methods - {"call"} == called, "what venues sign is no call of a client"


def test_a_method_takes_and_returns_the_models_of_its_operation() -> None:
    """The table names models in texts, which no type checker compares with an annotation."""
    models = {
        name: kind
        for module in pkgutil.iter_modules(wire.__path__, f"{wire.__name__}.")
        for name, kind in vars(importlib.import_module(module.name)).items()
        if inspect.isclass(kind)
    }
    made_inside = {"OrderList", "MultiSenderQuery"}
    for operation in OPERATIONS:
        if operation.signed:
            continue
        method = getattr(PartnerApi, operation.name)
        hints = get_type_hints(method, vars(api), models).values()
        annotated = {kind for hint in hints for kind in (str(hint), *map(str, get_args(hint)))}
        named = [operation.result, operation.query, operation.body]
        wanted = {str(kind) for kind in named if getattr(kind, "__name__", "") not in made_inside}
        assert wanted - {"None"} <= annotated, operation.name


@each_row("operation", OPERATIONS, ids=lambda o: o.name)
def test_every_path_leads_to_its_row(operation) -> None:
    path = re.sub(r"\{[a-zA-Z]+\}", "abc", operation.path)
    found, values = find_operation(operation.method.lower(), f"/v2{path}")
    assert found is operation
    assert list(values.values()) == [
        s for s, t in zip(path.split("/"), operation.path.split("/"), strict=True) if s != t
    ]
    assert find_operation(operation.method, path)[0] is operation


@each_row(
    ("method", "path"),
    [
        ("GET", "/v2/orders/../chains"),
        ("GET", "/v2/orders/a%2fb"),
        ("GET", "/v2/orders/"),
        ("GET", "/v2/orders/a/b"),
        ("DELETE", "/v2/orders/abc"),
        ("POST", "/v2/orders/abc"),
        ("GET", "http://evil.example/v2/chains"),
        ("GET", "//evil.example/chains"),
        ("GET", "/v1/chains"),
        ("GET", "/v2"),
        ("GET", ""),
        ("GET", "/v2/chains?x=1"),
        ("GET", "/v2/chains/"),
    ],
)
async def test_a_path_outside_the_table_is_never_sent(method: str, path: str) -> None:
    async with RudeServer(answer(200, b"{}")) as server, open_api(server) as api:
        with pytest.raises(RequestRefused):
            await api.call(method, path)
        assert server.requests == []


async def test_a_call_by_path_gives_the_bytes_as_they_came() -> None:
    body = b'{ "orders": [],  "total": 0, "totalPages": 0 }'
    headers = {"x-request-id": "r-1"}
    async with RudeServer(answer(200, body, headers)) as server, open_api(server) as api:
        found = await api.call("GET", "/v2/orders", [("status", "1"), ("status", "2"), ("a", "é&")])
        assert server.requests[0].target == "/v2/orders?status=1&status=2&a=%C3%A9%26"
    assert (found.body, found.status, found.request_id) == (body, 200, "r-1")
    assert found.operation.name == "list_orders"


async def test_a_write_by_path_needs_a_body_that_fits_and_a_read_takes_none() -> None:
    async with RudeServer(answer(200, b'{"serviceId":"a"}')) as server, open_api(server) as api:
        for method, path, body in (
            ("POST", "/exchanges", None),
            ("GET", "/chains", b"{}"),
            ("POST", "/exchanges", b" " * (BODY_LIMIT + 1)),
        ):
            with pytest.raises(RequestRefused):
                await api.call(method, path, body=body)
        assert server.requests == []
        await api.call("post", "/exchanges", body=b"{}")
        assert server.requests[0].body == b"{}"


@each_row("case", load("other_id", name="answers"), ids=lambda case: case.id)
async def test_an_answer_about_another_id_is_of_no_use(case: Case) -> None:
    called = case.input["operation"]
    more = {
        "build_multi_transactions": (MultiBuildRequest(sender="0x" + "1" * 40),),
        "get_multi_transactions": ("0x" + "1" * 40,),
    }
    async with RudeServer(answer(200, case.input["answer"])) as server, open_api(server) as api:
        with pytest.raises(ClientError, match="about another id") as caught:
            await getattr(api, called)("abc", *more.get(called, ()))
        assert len(server.requests) == 1
        assert api.raw_order("xyz") is None
    refused = caught.value.reason if isinstance(caught.value, OutcomeUnknown) else caught.value
    assert isinstance(refused, AnswerRefused)
    assert refused.reason == "other_id"
    assert isinstance(caught.value, OutcomeUnknown) is (case.expect["outcome"] == "unknown")


async def test_the_id_of_a_token_is_the_same_in_either_case() -> None:
    told = BTC.model_dump(by_alias=True) | {"id": BTC.id.upper()}
    other = told | {"id": "f" * 24}
    async with (
        RudeServer(answer(200, encode_json(told)), answer(200, encode_json(other))) as server,
        open_api(server) as api,
    ):
        assert (await api.get_token(BTC.id)).symbol == "BTC"
        with pytest.raises(AnswerRefused, match="about another id"):
            await api.get_token(BTC.id)


async def test_the_newest_orders_stay_available_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swapdesk.client.api._RAW_ORDERS", 2)
    behaviours = [answer(200, {"serviceId": f"o{n}"}) for n in range(3)]
    async with RudeServer(*behaviours) as server, open_api(server) as api:
        for n in range(3):
            await api.get_order(f"o{n}")
        kept = [api.raw_order(f"o{n}") for n in range(3)]
        assert [each and json.loads(each) for each in kept] == [
            None,
            {"serviceId": "o1"},
            {"serviceId": "o2"},
        ]


async def test_the_description_of_the_service_may_hold_bounds_no_amount_has() -> None:
    body = b'{"openapi": "3.0.3", "maximum": 1.7976931348623157e+308, "more": ' + b"9" * 60 + b"}"
    async with RudeServer(answer(200, body)) as server, open_api(server) as api:
        assert (await api.openapi())["more"] == int("9" * 60)
    for bad in (b"[" * 100_000, b"<html>", b"[]", b"\xff", b'{"a": ' + b"9" * 5000 + b"}"):
        async with RudeServer(answer(200, bad)) as server, open_api(server) as api:
            with pytest.raises(AnswerRefused):
                await api.openapi()


@each_row("wrapped", [False, True])
async def test_providers_come_bare_or_wrapped(wrapped: bool) -> None:
    rows = [{"id": "6421c1bb38a32da00696b9bc", "name": "X", "shortName": "cn", "enabled": True}]
    body = {"swaps": rows} if wrapped else rows
    async with RudeServer(answer(200, body)) as server, open_api(server) as api:
        assert [p.short_name for p in await api.list_swaps()] == ["cn"]


async def test_calls_are_counted_by_class_unless_refused_for_their_number() -> None:
    windows = {"perMinute": 5, "perHour": 20, "perDay": 50}
    limits = {"monthlyRequestCount": 9, "quote": windows, "exchange": windows}
    quotes = {"quotes": [], "total": 0}
    query = QuoteQuery.model_validate({"amount": "1", "from": "a" * 24, "to": "b" * 24})
    limited = answer(429, {}, {"retry-after": "61"})
    async with (
        RudeServer(answer(200, limits), answer(200, quotes), limited) as server,
        open_api(server) as api,
    ):
        assert api.budget.left("quote") is None
        await api.get_rate_limits()
        await api.get_quotes(query)
        with pytest.raises(Exception, match="429"):
            await api.get_quotes(query)
        left = api.budget.left("quote")
        assert left.left == 4
        assert api.budget.left("exchange").left == 5


async def test_one_order_that_cannot_be_read_does_not_hide_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows = [{"serviceId": "a"}, {"serviceId": "b", "inAmount": "much"}, {"x": 1}, None, "c"]
    body = {"orders": [*rows, {"serviceId": "d", "inAmount": 0.5}], "total": 6, "totalPages": 1}
    async with RudeServer(answer(200, body)) as server, open_api(server) as api:
        page = await api.list_orders()
    assert [order.service_id for order in page.orders] == ["a", "d"]
    assert (page.skipped, page.total, page.total_pages) == (4, 6, 1)
    assert "inAmount" in caplog.text
    assert "much" not in caplog.text
    assert not page.empty


@each_row("body", [[], {"orders": []}, {"orders": {}, "total": 0, "totalPages": 0}])
async def test_an_answer_that_is_no_list_of_orders_is_refused(body: object) -> None:
    async with RudeServer(answer(200, body)) as server, open_api(server) as api:
        with pytest.raises(AnswerRefused) as caught:
            await api.list_orders()
        assert caught.value.reason == "wrong_shape"


@each_row(
    ("body", "status"),
    [
        (b'{"ok":true}', None),
        (b'{"status":"ok"}', "ok"),
        (b'{"status":"ok","version":7,"time":{"now":1}}', None),
        (b"{}", None),
        (b"", None),
        (b"OK", None),
        (b'"ok"', None),
        (b"<html>fine</html>", None),
        (b"[" * 4_000, None),
        (b"x" * (1 << 21), None),
    ],
)
async def test_the_status_of_the_answer_alone_says_that_a_service_is_well(
    body: bytes, status: str | None
) -> None:
    async with RudeServer(answer(200, body)) as server, open_api(server) as api:
        assert (await api.health()).status == status


@each_row("status", [302, 404, 503])
async def test_a_service_is_not_well_whatever_it_says(status: int) -> None:
    said = b'{"status":"ok","version":"1","time":"2026-11-20T14:02:11Z"}'
    async with RudeServer(answer(status, said)) as server, open_api(server) as api:
        with pytest.raises((ApiError, AnswerRefused)):
            await api.health()


ETH_ADDRESS = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path, ManualClock(), venues_at()) as opened:
        yield opened


def swap() -> QuoteQuery:
    return QuoteQuery.model_validate(
        {"amount": "0.5", "from": ETH.id, "to": BTC.id, "types": [RouteType.STANDARD]}
    )


async def create(api: PartnerApi) -> Order:
    quotes = await api.get_quotes(swap())
    quote_id = quotes.quotes[0].quote_id
    receipt = await api.create_exchange(ExchangeRequest(quote_id=quote_id, address_to=BTC_ADDRESS))
    assert receipt.request_id
    return receipt.made


@pytest.mark.parametrize("newer", [Newer(), Newer(members=KINDS)], ids=["today", "newer"])
async def test_every_operation_is_understood_both_ways(world: World, newer: Newer) -> None:
    """Also where a newer service adds members to whatever it says."""
    world.network.after = between(newer)
    async with world.new_api() as api:
        assert (await api.health()).status == "ok"
        assert (await api.openapi())["openapi"].startswith("3.0")
        chains = await api.list_chains(ChainQuery(page_size=2))
        assert (len(chains.chains), chains.total) == (2, 4)
        tokens = await api.list_tokens(TokenQuery(symbol="usdc"))
        assert {t.symbol for t in tokens.tokens} == {"USDC"}
        assert (await api.get_token(ETH.id)).symbol == "ETH"
        assert {p.short_name for p in await api.list_swaps()} == {"aa", "bb", "cc"}
        pair = PairLimitsQuery(token_id_from=ETH.id, token_id_to=BTC.id)
        assert (await api.get_pair_limits(pair)).cex is not None
        quotes = await api.get_quotes(swap())
        assert quotes.total == len(quotes.quotes) >= 3
        assert all(isinstance(q.net_amount_out, Decimal) for q in quotes.quotes)
        order = await create(api)
        assert (await api.get_order(order.service_id)) == order
        raw = api.raw_order(order.service_id)
        assert decode(Order, raw, side="client") == order
        send_query = PrivateSendQuery.model_validate({"amount": "1", "from": ETH.id})
        sends = await api.get_private_send_quotes(send_query)
        sent = await api.create_private_send(
            PrivateSendRequest(quote_id=sends.quotes[0].quote_id, address_to=ETH_ADDRESS)
        )
        assert sent.made.anonymous
        assert sent.request_id
        listed = await api.list_orders(OrderQuery(page_size=1))
        assert (len(listed.orders), listed.total, listed.total_pages) == (1, 2, 2)
        limits = await api.get_rate_limits()
        left = api.budget.left("exchange")
        assert left.left == limits.exchange.per_minute - 2
        assert (await api.get_commissions(CommissionQuery(month="2026-11"))).commission_count == 0
        assert (await api.get_volume()).total_transacted_usd == 0
        assert await api.get_weekly_volume() == []
        assert len(await api.get_chart(ChartQuery(metric=ChartMetric.VOLUME))) == 30


OWNER = Account.from_key("0x" + "11" * 32)


async def test_a_group_is_understood_both_ways(tmp_path: Path) -> None:
    tokens = [token.model_copy(update={"has_bundler": True}) for token in TOKENS]
    onchain = Onchain(bundler=PlainBundler(funded={account_address(OWNER.address)}))
    clock = ManualClock()
    asked = MultiOrderRequest(
        from_=ETH.id, to=BTC.id, amount=Decimal("0.5"), address_to=BTC_ADDRESS, anonymous=False
    )
    async with (
        open_world(tmp_path, clock, venues_at(), tokens=tokens, onchain=onchain) as opened,
        opened.api as api,
    ):
        receipt = await api.create_multi_exchange(MultiExchangeRequest(orders=[asked]))
        assert receipt.request_id
        await opened.service.worker.step(clock.now())
        multi_id = receipt.made.multi_id
        request = MultiBuildRequest(sender=OWNER.address)
        (batch,) = (await api.build_multi_transactions(multi_id, request)).transactions
        signed = OWNER.sign_message(encode_defunct(hexstr=batch.tx_data.user_op_hash))
        signatures = ["0x" + signed.signature.hex().removeprefix("0x")]
        submission = await api.submit_multi_transactions(
            multi_id, MultiSubmitRequest(signatures=signatures)
        )
        assert submission.user_op_hashes == [batch.tx_data.user_op_hash]
        await opened.service.bundles.step()
        assert (await api.get_multi_exchange(multi_id)).bundle_status == "confirmed"
        with pytest.raises(ApiError, match="VALIDATION_ERROR") as refused:
            await api.get_multi_transactions(multi_id, OWNER.address)
        assert list(refused.value.fields) == ["multiId"]
