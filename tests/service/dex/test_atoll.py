"""The maker on Solana, from its quote to the end of the order."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from decimal import ROUND_CEILING, Decimal

import pytest
import pytest_asyncio
from solders.keypair import Keypair

import databases
from service.dex.solana_floor import SOL, SolanaFloor, SolanaTrader, trading_on_solana
from swapdesk.chain.solana import PACKET_BYTES, read_message, read_transaction
from swapdesk.service.venues.onchain.atoll import FEE, MOST_USD, offered

pytestmark = pytest.mark.asyncio(loop_scope="module")

RENT = 2_039_280
"""Lamports that a token account holds."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def floor(
    engine: databases.Name, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[SolanaFloor]:
    async with trading_on_solana(tmp_path_factory.mktemp("atoll")) as made:
        yield made


def usd(lamports: int, floor: SolanaFloor) -> Decimal:
    """As rows tell it: to the millionth, up."""
    exact = Decimal(lamports).scaleb(-9) * floor.token("solana", "SOL").price
    return exact.quantize(Decimal("0.000001"), ROUND_CEILING)


async def test_tokens_are_sold_for_coins(floor: SolanaFloor) -> None:
    someone = SolanaTrader(floor)
    await someone.fund("1", USDC="300")
    row = await someone.row("at", "USDC", "SOL", "250")
    assert (row["type"], row["swapName"], row["filtered"]) == ("dex", "Atoll", False)
    assert (row["requiresApproval"], row["supportsSignatures"]) == (False, False)
    assert row["netAmountOut"] == row["amountOut"]
    assert row["feeUsd"] == 0
    # Ten thousand lamports for two signatures and a hundred for the units.
    assert row["gasUsd"] == usd(FEE, floor)
    order = await someone.create(row["quoteId"])
    assert order["isDex"] is True
    assert "depositAddress" not in order
    before = await someone.holds("SOL")
    sent = await someone.execute(order["metadata"])
    assert await someone.confirm(order["serviceId"], sent) is True
    assert await someone.confirm(order["serviceId"], sent) is True
    ended = await floor.ended(order["serviceId"])
    assert ended["inTransactionOutHash"] == sent
    assert json.loads(ended["metadata"]) == order["metadata"]
    assert await someone.holds("USDC") == 50 * 10**6
    arrived = await someone.holds("SOL") - before + FEE
    assert ended["outAmount"] == Decimal(arrived).scaleb(-9) == row["amountOut"]


async def test_an_account_for_what_is_bought_is_opened_at_the_users_cost(
    floor: SolanaFloor,
) -> None:
    someone, other = SolanaTrader(floor), SolanaTrader(floor)
    await someone.fund("20")
    row = await someone.row("at", "SOL", "USDC", "10", senderAddress=someone.address)
    assert row["gasUsd"] == usd(FEE + RENT, floor)
    order = await someone.create(row["quoteId"], addressTo=other.address)
    assert order["receiverAddress"] == other.address
    sent = await someone.execute(order["metadata"])
    assert await someone.confirm(order["serviceId"], sent) is True
    ended = await floor.ended(order["serviceId"])
    assert ended["outAmount"] == Decimal(await other.holds("USDC")).scaleb(-6)
    assert await someone.holds("USDC") == 0
    assert await someone.holds("SOL") == 10 * SOL - FEE - RENT
    # Who has one already pays for none.
    known = await someone.row("at", "SOL", "USDC", "1", receiverAddress=other.address)
    assert known["gasUsd"] == usd(FEE, floor)


async def test_the_half_is_signed_by_the_maker_alone(floor: SolanaFloor) -> None:
    someone = SolanaTrader(floor)
    await someone.fund("1", USDC="20", JUP="50")
    row = await someone.row("at", "JUP", "USDC", "50")
    order = await someone.create(row["quoteId"])
    assert order == await someone.create(row["quoteId"])
    raw = bytes.fromhex(order["metadata"]["data"])
    assert len(raw) <= PACKET_BYTES
    half = read_transaction(raw)
    message = read_message(half.message)
    assert [str(key) for key in message.signers] == [someone.address, str(floor.maker.pubkey())]
    assert half.verify_with_results() == [False, True]
    newest = await floor.world.client.latest_blockhash()
    assert int(order["metadata"]["lastValidBlockHeight"]) <= newest.last_height


async def test_another_transaction_is_not_the_orders(floor: SolanaFloor) -> None:
    someone = SolanaTrader(floor)
    await someone.fund("1", USDC="40")
    orders = [await someone.ordered("USDC", "SOL", "10") for _ in range(2)]
    sent = await someone.execute(orders[0]["metadata"])
    await someone.confirm(orders[1]["serviceId"], sent, "txHash")
    await someone.confirm(orders[1]["serviceId"], None, "BAD_REQUEST")
    await someone.confirm(orders[1]["serviceId"], "0x" + "11" * 32, "txHash")
    # Signed and not sent: the chain does not know it yet.
    unsent = str(someone.signed(orders[1]["metadata"]).signatures[0])
    assert await someone.confirm(orders[1]["serviceId"], unsent) is False
    assert await someone.confirm(orders[0]["serviceId"], sent) is True
    again = await someone.execute(orders[1]["metadata"])
    await someone.confirm(orders[0]["serviceId"], again, "ALREADY_SUBMITTED")


async def test_a_half_ends_with_its_blockhash(floor: SolanaFloor) -> None:
    someone = SolanaTrader(floor)
    await someone.fund("1", USDC="40")
    order = await someone.ordered("USDC", "SOL", "10")
    floor.world.time.pass_blocks(151)
    with pytest.raises(Exception, match="Blockhash not found"):
        await someone.execute(order["metadata"])
    assert await someone.holds("USDC") == 40 * 10**6


async def test_what_was_executed_and_told_nobody_ends_as_the_chain_says(
    floor: SolanaFloor,
) -> None:
    """Other transactions of the owner are not the order's."""
    someone = SolanaTrader(floor)
    await someone.fund("1", USDC="100")
    told, untold = [await someone.ordered("USDC", "SOL", "50") for _ in range(2)]
    sent = await someone.execute(untold["metadata"])
    floor.clock.advance_to(floor.clock.offset + 1_900)
    ended = await floor.ended(untold["serviceId"])
    assert ended["inTransactionOutHash"] == sent
    # Who tells of it later is told that it is known.
    assert await someone.confirm(untold["serviceId"], sent) is True
    unsent = await floor.ended(told["serviceId"], "EXPIRED")
    assert "inTransactionOutHash" not in unsent


async def test_a_swap_that_fails_on_the_chain_ends_its_order(floor: SolanaFloor) -> None:
    someone = SolanaTrader(floor)
    await someone.fund("1", USDC="40")
    order = await someone.ordered("USDC", "SOL", "30")
    second = await someone.ordered("USDC", "SOL", "30")
    await someone.execute(order["metadata"])
    raw = bytes(someone.signed(second["metadata"]))
    await floor.world.ask(
        "sendTransaction",
        b64encode(raw).decode(),
        {"encoding": "base64", "skipPreflight": True},
    )
    sent = str(someone.signed(second["metadata"]).signatures[0])
    assert await someone.confirm(second["serviceId"], sent) is True
    await floor.ended(second["serviceId"], "FAILED")
    assert await someone.holds("USDC") == 10 * 10**6


async def test_what_would_fail_is_refused_and_the_quote_stays(floor: SolanaFloor) -> None:
    someone = SolanaTrader(floor)
    row = await someone.row("at", "USDC", "SOL", "100")
    refused = await someone.create(row["quoteId"], "INVALID_SWAP")
    assert "no SOL for the network's fee" in refused["message"]
    await someone.fund("1", USDC="99")
    refused = await someone.create(row["quoteId"], "INVALID_SWAP")
    assert "does not hold what it sells" in refused["message"]
    surplus = [{"signature": "0x" + "11" * 65, "key": "permit"}]
    await someone.create(row["quoteId"], "signatures", signatures=surplus)
    await someone.create(row["quoteId"], "addressFrom", addressFrom="0x" + "11" * 20)
    await someone.fund("0", USDC="1")
    assert (await someone.create(row["quoteId"]))["isDex"] is True


async def test_what_the_maker_does_not_quote(floor: SolanaFloor) -> None:
    someone = SolanaTrader(floor)
    usdc, sol = floor.coins()
    large = (await someone.quotes(usdc, sol, str(MOST_USD + 1_000)))["at"]
    assert "250,000 USD" in large["error"]
    assert "quoteId" not in large
    base = next(
        each
        for each in floor.parts.catalog.tokens
        if each.chain_data.short_name == "base" and each.symbol == "USDC"
    )
    assert "at" not in await someone.quotes(base, sol, "10")
    body = {"quoteId": "1" * 24, "addressFrom": str(Keypair().pubkey())}
    await someone.ask("/dex/approve", body, "addressFrom")


@pytest.mark.parametrize("dollars", ["1", "1000", "250000"])
async def test_its_margin_grows_with_the_size(dollars: str) -> None:
    out, impact = offered(int(Decimal(dollars) * 10**6), 6, 9, Decimal(1), Decimal(100))
    lost = 1 - Decimal(out).scaleb(-9) * 100 / Decimal(dollars)
    assert lost == pytest.approx(Decimal("0.0012") + impact, abs=Decimal("0.00001"))
    assert impact <= Decimal("0.003")


async def test_nothing_is_offered_for_nothing_and_too_much() -> None:
    assert offered(1, 9, 6, Decimal("0.0001"), Decimal(1)) is None
    assert offered(250_001 * 10**6, 6, 9, Decimal(1), Decimal(100)) is None
