"""A token like USDT with an allowance left over: it needs a reset to zero, and gets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.dex.swapping import Place, Swapper
from swapdesk.chain.calldata import erc20
from swapdesk.chain.deployments import SANDBOX_VENUES
from swapdesk.chain.rpc.evm import Call
from swapdesk.chain.rpc.evm_answers import EvmRefused
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.transactions import TransactionState
from swapdesk.wire.tokens import Token

pytestmark = pytest.mark.asyncio(loop_scope="package")

ROUTER = next(one.address for one in SANDBOX_VENUES if one.provider == "ba")


async def allowed(someone: Swapper, token: Token) -> int:
    """Units that the venue may take, asked of the node over JSON-RPC."""
    assert token.address is not None
    client = someone.place.floor.readers[token.chain_data.short_name].client
    call = Call(token.address, erc20.ALLOWANCE.call(someone.address, ROUTER))
    return int.from_bytes(await client.call(call), "big")


async def test_what_is_left_over_is_reset_first(
    place: Place, first: Swapper, tmp_path: Path
) -> None:
    usdt, weth = place.floor.token("ethereum", "USDT"), place.floor.token("ethereum", "WETH")
    client = place.floor.readers["ethereum"].client
    async with place.someone(tmp_path, first) as someone:
        await someone.fund(chain="ethereum", USDT="500")
        # An approval that was given for a swap nobody went on with.
        someone.agrees = lambda review: "may take" in review.title or "llow" in review.title
        left = await someone.flow().swap(await someone.intent("ba", usdt, weth, "40"))
        assert left.refused, left
        assert left.code == "NOT_CONFIRMED"
        assert await allowed(someone, usdt) == 40 * 10**6
        # The token takes no other allowance now, but for nothing.
        assert usdt.address is not None
        more = Call(usdt.address, erc20.APPROVE.call(ROUTER, 100 * 10**6), someone.address)
        with pytest.raises(EvmRefused):
            await client.call(more)
        someone.agrees = lambda review: True
        someone.reviews.clear()
        intent = await someone.intent("ba", usdt, weth, "100")
        outcome = await someone.flow().swap(intent)
        assert outcome.done, outcome
        signed = await someone.agent.transactions(intent.id)
        assert [(one.purpose, one.state) for one in signed] == [
            (Purpose.APPROVE, TransactionState.SUCCEEDED),
            (Purpose.APPROVE, TransactionState.SUCCEEDED),
            (Purpose.SWAP, TransactionState.SUCCEEDED),
        ]
        sent = [await client.transaction(one.hash) for one in signed]
        assert [one.data for one in sent[:2] if one is not None] == [
            erc20.APPROVE.call(ROUTER, 0),
            erc20.APPROVE.call(ROUTER, 100 * 10**6),
        ]
        assert len(someone.reviews) == 3, "each of them was shown"
        assert (await place.completed(outcome.order)).display_status == "SWAP_COMPLETED"
        assert await allowed(someone, usdt) == 0
        assert await someone.holds(usdt) == 400 * 10**6
        assert await someone.holds(weth) > 0


async def test_a_reset_that_went_through_alone_is_gone_on_from(
    place: Place, first: Swapper, tmp_path: Path
) -> None:
    """The trader says no between the two: nothing may be taken, and that is what is said."""
    usdt, weth = place.floor.token("ethereum", "USDT"), place.floor.token("ethereum", "WETH")
    async with place.someone(tmp_path, first) as someone:
        await someone.fund(chain="ethereum", USDT="500")
        someone.agrees = lambda review: len(someone.reviews) == 1
        left = await someone.flow().swap(await someone.intent("ba", usdt, weth, "40"))
        assert left.refused, left
        assert await allowed(someone, usdt) == 40 * 10**6
        someone.reviews.clear()
        intent = await someone.intent("ba", usdt, weth, "100")
        ended = await someone.flow().swap(intent)
        assert ended.refused, ended
        assert ended.code == "NOT_CONFIRMED"
        assert await allowed(someone, usdt) == 0
        assert ended.failure.money == "in your wallet; nothing was swapped"
        someone.agrees = lambda review: True
        outcome = await someone.flow().swap(await someone.intent("ba", usdt, weth, "100"))
        assert outcome.done, outcome
        assert await someone.holds(usdt) == 400 * 10**6
