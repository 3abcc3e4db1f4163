"""Groups of orders by the typed client, against the service and against one that breaks off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct

from service.orders_fixtures import BTC as BTC_ADDRESS
from service.orders_fixtures import venues_at
from service.plain_bundler import PlainBundler
from service.world import BTC, ETH, TOKENS
from swapdesk.chain.smart_account import account_address
from swapdesk.client.errors import NotFound, ValidationFailed
from swapdesk.clock import ManualClock
from swapdesk.service.app import Onchain
from swapdesk.service.orders.lifecycle import Worker
from swapdesk.wire.multi import (
    EvmTransactionData,
    MultiBuildRequest,
    MultiExchangeRequest,
    MultiOrderRequest,
    MultiSubmitRequest,
    RouteFilters,
)
from world import World, open_world

OWNER = Account.from_key("0x" + "11" * 32)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    tokens = [token.model_copy(update={"has_bundler": True}) for token in TOKENS]
    onchain = Onchain(bundler=PlainBundler(funded={account_address(OWNER.address)}))
    clock = ManualClock()
    async with open_world(tmp_path, clock, venues_at(), tokens=tokens, onchain=onchain) as opened:
        yield opened


def order(amount: str, to: str = BTC_ADDRESS) -> MultiOrderRequest:
    return MultiOrderRequest(
        from_=ETH.id, to=BTC.id, amount=Decimal(amount), address_to=to, anonymous=False
    )


GROUP = MultiExchangeRequest(
    orders=[order("0.5"), order("0.123456789123456789"), order("0.5", OWNER.address)],
    filters=RouteFilters(only_swaps=["bb"]),
)


async def test_a_group_from_the_create_to_its_confirmation(world: World) -> None:
    parts = world.service
    async with world.api as api:
        receipt = await api.create_multi_exchange(GROUP)
        assert receipt.request_id
        made = receipt.made
        first, second, wrong = made.orders
        assert first.order is not None
        assert second.order.in_amount == Decimal("0.123456789123456789"), "to the last digit"
        assert wrong.order is None
        assert wrong.error.code == "VALIDATION_ERROR"
        assert list(wrong.error.fields or {}) == ["addressTo"]
        assert isinstance(parts.worker, Worker)
        await parts.worker.step(parts.clock.now())
        told = await api.get_multi_exchange(made.multi_id)
        assert [each.swap_name for each in told.orders] == ["Beta", "Beta"]
        ids = [each.service_id for each in told.orders]
        request = MultiBuildRequest(sender=OWNER.address, service_ids=ids)
        built = await api.build_multi_transactions(made.multi_id, request)
        (batch,) = built.transactions
        assert batch.service_ids == ids
        assert isinstance(batch.tx_data, EvmTransactionData)
        assert batch.tx_data.user_operation is not None
        signed = OWNER.sign_message(encode_defunct(hexstr=batch.tx_data.user_op_hash))
        signatures = ["0x" + signed.signature.hex().removeprefix("0x")]
        submission = await api.submit_multi_transactions(
            made.multi_id, MultiSubmitRequest(signatures=signatures)
        )
        assert submission.user_op_hashes == [batch.tx_data.user_op_hash]
        with pytest.raises(NotFound):
            await api.submit_multi_transactions(
                made.multi_id, MultiSubmitRequest(signatures=signatures)
            )
        await parts.bundles.step()
        ended = await api.get_multi_exchange(made.multi_id)
        assert ended.bundle_status == "confirmed"
        assert ended.tx_hash is not None
        with pytest.raises(NotFound):
            await api.get_multi_exchange("nothing")
        with pytest.raises(ValidationFailed) as refused:
            await api.get_multi_transactions(made.multi_id, OWNER.address)
        assert list(refused.value.fields) == ["multiId"]
