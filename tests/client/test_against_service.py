"""The client against the real service, in process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct

from cli.newer_answers import KINDS, Newer, between
from service.orders_fixtures import BTC as BTC_ADDRESS
from service.orders_fixtures import venues_at
from service.plain_bundler import PlainBundler
from service.world import BTC, ETH, TOKENS
from swapdesk.chain.smart_account import account_address
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.client.errors import (
    AccessError,
    ApiError,
    NotFound,
)
from swapdesk.clock import ManualClock
from swapdesk.service.app import Onchain
from swapdesk.wire.account import ChartMetric, ChartQuery, CommissionQuery
from swapdesk.wire.chains import ChainQuery
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.multi import (
    MultiBuildRequest,
    MultiExchangeRequest,
    MultiOrderRequest,
    MultiSubmitRequest,
)
from swapdesk.wire.orders import ExchangeRequest, Order, OrderQuery, PrivateSendRequest
from swapdesk.wire.quotes import PairLimitsQuery, PrivateSendQuery, QuoteQuery, RouteType
from swapdesk.wire.tokens import TokenQuery
from world import World, open_world

CREDENTIALS = Credentials.of_key("first-key", "first-secret")
ETH_ADDRESS = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path, ManualClock(), venues_at()) as opened:
        yield opened


def swap(amount: str = "0.5") -> QuoteQuery:
    return QuoteQuery.model_validate(
        {"amount": amount, "from": ETH.id, "to": BTC.id, "types": [RouteType.STANDARD]}
    )


async def create(api: PartnerApi) -> Order:
    quotes = await api.get_quotes(swap())
    quote_id = quotes.quotes[0].quote_id
    assert quote_id is not None
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
        assert raw is not None
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


async def test_refusals_of_the_service_have_their_classes(world: World) -> None:
    async with world.new_api() as api:
        with pytest.raises(NotFound):
            await api.get_order("unknown")
        with pytest.raises(ApiError, match="AMOUNT_TOO_LOW"):
            await api.get_quotes(swap("0.0000001"))
        with pytest.raises(ApiError, match="INVALID_SWAP"):
            await api.create_exchange(ExchangeRequest(quote_id="0" * 24, address_to=BTC_ADDRESS))
        with pytest.raises(ApiError, match="VALIDATION_ERROR") as caught:
            await api.call("GET", "/quotes", [("amount", "1,5"), ("from", ETH.id), ("to", BTC.id)])
        assert "amount" in caught.value.fields
        assert caught.value.request_id
    async with world.new_api(Credentials.read_only("partner-first")) as reader:
        assert (await reader.list_chains()).total == 4
        with pytest.raises(AccessError) as refused:
            await reader.list_orders()
        assert refused.value.code == "PARTNER_ID_NOT_SUPPORTED"
    async with world.new_api(Credentials.of_key("first-key", "wrong")) as stranger:
        with pytest.raises(AccessError):
            await stranger.list_chains()
