"""A transfer on Solana that is looked at too long: made anew, shown again, paid once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from solders.pubkey import Pubkey

from sandbox.solana.solana_world import running
from swapdesk.clock import SystemClock
from swapdesk.flows.deposits.wallet_funding import DepositTransfer
from swapdesk.flows.transactions import Agreed, NotAgreed, NotSignable, Pace, Watch
from swapdesk.wallet.accounts import ChainLink, Kind, WalletPlace
from swapdesk.wallet.answers import Review
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Promise
from wallet.agents import CHEAP, PASSPHRASE
from wallet.test_solana_deposits import COINS, SOL, Payer

Look = Callable[[Review], Awaitable[Agreed | None]]


def payable() -> str | None:
    """The order waits for its deposit."""
    return None


@pytest.fixture
async def payer(tmp_path: Path) -> AsyncIterator[Payer]:
    async with running(tmp_path / "chain") as world:
        link = ChainLink("solana", Kind.SOLANA, None, world.url, 1)
        place = WalletPlace(str(tmp_path / "keys"), "sandbox", (link,))
        agent = await WalletClient.start(place, program=CHEAP)
        try:
            made = await agent.create(Kind.SOLANA, "", PASSPHRASE)
            await world.node.fund(made.address, 100 * 10**9)
            yield Payer(world, agent, Pubkey.from_string(made.address))
        finally:
            await agent.close()


class Trader:
    """Answers each review; ``before`` is what happens while it is looked at."""

    def __init__(self, before: Callable[[int], None]) -> None:
        self._before = before
        self.seen: list[Review] = []

    async def look(self, review: Review) -> Agreed | None:
        self.seen.append(review)
        self._before(len(self.seen))
        return Agreed()


def transfer(
    payer: Payer,
    promise: Promise,
    look: Look,
    *,
    refusal: Callable[[], str | None] = payable,
    clock: SystemClock | None = None,
) -> DepositTransfer:
    clock = clock or SystemClock()
    return DepositTransfer(payer.agent, clock, promise, look, refusal, Pace(look=0), Watch())


async def test_what_grew_too_old_is_shown_once_more_and_paid_once(payer: Payer) -> None:
    promise = payer.promise("slow", SOL)
    trader = Trader(lambda looks: payer.world.time.pass_blocks(140) if looks < 3 else None)
    signed = await transfer(payer, promise, trader.look).signed()
    digests = [one.digest for one in trader.seen]
    assert len(digests) == len(set(digests)) == 3
    await payer.agent.broadcast(signed.hash)
    assert await payer.world.client.balance(promise.deposit.address) == COINS
    assert [one.hash for one in await payer.agent.transactions("slow")] == [signed.hash]


async def test_a_review_that_ended_is_not_an_order_that_did(payer: Payer) -> None:
    """The session takes the question back when the review ends; the order goes on waiting."""
    clock = SystemClock()
    promise = payer.promise("asleep", SOL)
    looks = 0

    async def look(review: Review) -> Agreed | None:
        nonlocal looks
        looks += 1
        if looks == 1:
            left = review.valid_until - clock.now()
            clock.advance_to(clock.offset + left.total_seconds() + 1)
            raise NotAgreed("The order ended before you signed.", "NOT_PAYABLE")
        return Agreed()

    await transfer(payer, promise, look, clock=clock).signed()
    assert looks == 2


async def test_an_order_that_ended_meanwhile_is_not_asked_about_again(payer: Payer) -> None:
    promise = payer.promise("ended", SOL)
    trader = Trader(lambda _: payer.world.time.pass_blocks(140))
    made = transfer(payer, promise, trader.look, refusal=lambda: "It ended.")
    with pytest.raises(NotAgreed, match="It ended") as ended:
        await made.signed()
    assert ended.value.code == "NOT_PAYABLE"
    assert len(trader.seen) == 1
    no = Trader(lambda _: None)

    async def refuse(review: Review) -> None:
        await no.look(review)

    with pytest.raises(NotAgreed) as refused:
        await transfer(payer, promise, refuse).signed()
    assert refused.value.code == "NOT_CONFIRMED"
    assert len(no.seen) == 1
    assert await payer.agent.transactions("ended") == ()


async def test_what_the_gate_refuses_is_not_made_again(payer: Payer) -> None:
    promise = payer.promise("poor", SOL, units=COINS * 10)
    trader = Trader(lambda _: None)
    with pytest.raises(NotSignable) as refused:
        await transfer(payer, promise, trader.look).signed()
    assert refused.value.code == "DEPOSIT_ABOVE"
    assert trader.seen == []
