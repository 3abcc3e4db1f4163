"""A token like USDT with an allowance left over: it needs a reset to zero, and gets it."""

from __future__ import annotations

import pytest

from flows.dex.swapping import Swapper
from swapdesk.chain.calldata import erc20
from swapdesk.chain.deployments import SANDBOX_VENUES
from swapdesk.chain.rpc.evm import Call
from swapdesk.chain.rpc.evm_answers import EvmRefused
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from swapdesk.wire.tokens import Token

pytestmark = pytest.mark.asyncio(loop_scope="package")

ROUTER = next(one.address for one in SANDBOX_VENUES if one.provider == "ba")


async def allowed(someone: Swapper, token: Token) -> int:
    """Units that the venue may take, asked of the node over JSON-RPC."""
    client = someone.place.floor.readers[token.chain_data.short_name].client
    call = Call(token.address, erc20.ALLOWANCE.call(someone.address, ROUTER))
    return int.from_bytes(await client.call(call), "big")


async def test_what_is_left_over_is_reset_first(someone: Swapper) -> None:
    """Whenever the trader says no, what may still be taken is what is said."""
    floor = someone.place.floor
    usdt, weth = floor.token("ethereum", "USDT"), floor.token("ethereum", "WETH")
    client = floor.readers["ethereum"].client
    await someone.fund(chain="ethereum", USDT="500")

    async def refused_after(answers: int, amount: str) -> tuple[str, list[SignedTransaction]]:
        """Where the money is, and what was signed, after so many times yes."""
        someone.reviews.clear()
        someone.agrees = lambda review: len(someone.reviews) <= answers
        intent = await someone.intent("ba", usdt, weth, amount)
        ended = await someone.flow().swap(intent)
        assert ended.refused, ended
        assert ended.code == "NOT_CONFIRMED"
        assert len(someone.reviews) == answers + 1, "each of them was shown"
        return ended.failure.money, list(await someone.agent.transactions(intent.id))

    # An approval that was given for a swap nobody went on with.
    await refused_after(1, "40")
    assert await allowed(someone, usdt) == 40 * 10**6
    # The token takes no other allowance now, but for nothing.
    more = Call(usdt.address, erc20.APPROVE.call(ROUTER, 100 * 10**6), someone.address)
    with pytest.raises(EvmRefused):
        await client.call(more)
    money, signed = await refused_after(2, "100")
    assert "may still take up to 100 USDT" in money
    assert [(one.purpose, one.state) for one in signed] == [
        (Purpose.APPROVE, TransactionState.SUCCEEDED),
        (Purpose.APPROVE, TransactionState.SUCCEEDED),
    ]
    assert [(await client.transaction(one.hash)).data for one in signed] == [
        erc20.APPROVE.call(ROUTER, 0),
        erc20.APPROVE.call(ROUTER, 100 * 10**6),
    ]
    assert await allowed(someone, usdt) == 100 * 10**6
    # No between the two: nothing may be taken.
    money, _ = await refused_after(1, "150")
    assert money == "in your wallet; nothing was swapped"
    assert await allowed(someone, usdt) == 0
    someone.agrees = lambda review: True
    outcome = await someone.flow().swap(await someone.intent("ba", usdt, weth, "100"))
    assert outcome.done, outcome
    assert (await someone.place.completed(outcome.order)).display_status == "SWAP_COMPLETED"
    assert await allowed(someone, usdt) == 0
    assert await someone.holds(usdt) == 400 * 10**6
    assert await someone.holds(weth) > 0
