"""Deposits of orders on Solana through a real agent, gate and chain: the agent builds the
transfer, and its gate reads it as if a stranger had."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio
from msgspec.structs import replace
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from sandbox.solana.solana_world import USDC
from swapdesk.chain.solana import (
    TOKEN,
    AdvanceNonce,
    ComputeLimit,
    ComputePrice,
    CreateTokenAccount,
    Memo,
    Transfer,
    TransferChecked,
    read_message,
    read_transaction,
    token_account,
)
from swapdesk.sandbox.world import find_token
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.payload import SolanaPayload
from swapdesk.wallet.promise import Asset, DepositPromise, Promise, Purpose
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from wallet.solana_account import DOLLAR, SOL, SolanaAccount, holding

pytestmark = pytest.mark.asyncio(loop_scope="module")

USDT = Pubkey.from_string(str(find_token("solana", "USDT").address))
COINS, DOLLARS = 10**8, 60 * 10**6
THIEF = Keypair()
State = TransactionState


class Payer(SolanaAccount):
    def promise(self, intent: str, sell: Asset, **changed: object) -> Promise:
        now, units = datetime.now(UTC), COINS if sell is SOL else DOLLARS
        deposit = DepositPromise(
            f"order-{intent}", str(Keypair().pubkey()), None, units, now + timedelta(minutes=10)
        )
        return Promise(
            intent_id=intent,
            account=str(self.me),
            chain="solana",
            chain_id=None,
            sell=sell,
            sell_units=units,
            buy=Asset("ETH", 18, None),
            chain_out="ethereum",
            least_units=0,
            quoted_units=0,
            recipient="0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
            venue="hy",
            quote_id=None,
            valid_until=now + timedelta(minutes=10),
            gas_units=10**7,
            deposit=replace(deposit, **changed),  # type: ignore[arg-type]
        )

    async def draft(self, promise: Promise) -> SolanaPayload:
        made = await self.agent.solana_deposit(promise)
        return SolanaPayload(Purpose.DEPOSIT, made.transaction, made.last_valid_height)

    async def pay(self, promise: Promise) -> SignedTransaction:
        signed = await self.signed(await self.draft(promise), promise)
        return await self.agent.broadcast(signed.hash)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def payer(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Payer]:
    directory, tokens = tmp_path_factory.mktemp("deposits"), dict.fromkeys((USDC, USDT), 10**9)
    async with holding(Payer, directory, 100 * 10**9, tokens) as made:
        yield made


async def test_coins_go_to_the_deposit_address_exactly(payer: Payer) -> None:
    promise = payer.promise("coins", SOL)
    deposit = promise.deposit
    assert deposit is not None
    before = await payer.coins()
    sent = await payer.pay(promise)
    assert sent.state is State.SENT
    assert await payer.coins(deposit.address) == COINS
    assert before - await payer.coins() == COINS + 5_000
    payer.world.time.pass_blocks(40)
    assert (await payer.agent.resolve(sent.hash)).state is State.SUCCEEDED


async def test_what_moves_is_told_in_the_coins_of_this_chain(payer: Payer) -> None:
    """What is bought is the coin of another chain, which has no contract either."""
    promise = payer.promise("told", SOL)
    review = await payer.agent.review(await payer.draft(promise), promise)
    assert review.simulation is not None
    mine = [one for one in review.simulation.changes if one.holder == str(payer.me)]
    assert [(one.symbol, one.decimals, one.units) for one in mine] == [("SOL", 9, -COINS - 5_000)]


@pytest.mark.parametrize("there", ["no account", "an account", "a token account"])
async def test_tokens_reach_whoever_the_deposit_address_is(payer: Payer, there: str) -> None:
    owner = Keypair().pubkey()
    if there != "no account":
        await payer.world.node.fund(str(owner), 5, str(USDC))
    held = token_account(owner, USDC)
    address = held if there == "a token account" else owner
    promise = payer.promise(f"tokens {there}", DOLLAR, address=str(address))
    await payer.pay(promise)
    assert await payer.dollars(str(owner)) == DOLLARS + (0 if there == "no account" else 5)


async def test_a_memo_is_the_orders_else_its_id(payer: Payer) -> None:
    for tag in (None, "12345"):
        promise = payer.promise(f"memo {tag}", SOL, tag=tag)
        draft = await payer.draft(promise)
        read = read_message(read_transaction(b64decode(draft.transaction)).message)
        memos = [one.text for one in read.instructions if isinstance(one, Memo)]
        assert promise.deposit is not None
        assert memos == [tag or promise.deposit.order_id]
        await payer.pay(promise)


async def test_a_review_ends_before_its_blockhash_does(payer: Payer) -> None:
    promise = payer.promise("short", SOL)
    review = await payer.agent.review(await payer.draft(promise), promise)
    left = (review.valid_until - datetime.now(UTC)).total_seconds()
    assert 40 < left <= 52
    payer.world.time.pass_blocks(140)
    with pytest.raises(Refused) as refused:
        await payer.agent.sign(review)
    assert [one.code for one in refused.value.findings] == ["BLOCKHASH_OLD"]
    # What is made anew pays.
    await payer.pay(promise)


Changed = Callable[[Payer, DepositPromise], list[Instruction]]


def _transfer(payer: Payer, to: Pubkey, units: int) -> Instruction:
    return Transfer(payer.me, to, units).build()


def _tokens(
    payer: Payer, to: Pubkey, units: int, mint: Pubkey = USDC, decimals: int = 6
) -> Instruction:
    return TransferChecked(
        token_account(payer.me, mint), mint, token_account(to, mint), payer.me, units, decimals
    ).build()


def _open(payer: Payer, owner: Pubkey, mint: Pubkey = USDC) -> Instruction:
    return CreateTokenAccount(payer.me, owner, mint).build()


def _to(deposit: DepositPromise) -> Pubkey:
    return Pubkey.from_string(deposit.address)


TAMPERED: dict[str, tuple[Asset, str, Changed]] = {
    "another address": (
        SOL, "DEPOSIT_ADDRESS_DIFFERS",
        lambda p, d: [_transfer(p, THIEF.pubkey(), d.units)],
    ),
    "a second transfer": (
        SOL, "DEPOSIT_ADDRESS_DIFFERS",
        lambda p, d: [_transfer(p, _to(d), d.units), _transfer(p, THIEF.pubkey(), 1)],
    ),
    "a second transfer of tokens": (
        DOLLAR, "DEPOSIT_ADDRESS_DIFFERS",
        lambda p, d: [
            _open(p, _to(d)), _tokens(p, _to(d), d.units), _tokens(p, THIEF.pubkey(), 1),
        ],
    ),
    "more": (SOL, "DEPOSIT_AMOUNT_DIFFERS", lambda p, d: [_transfer(p, _to(d), d.units + 1)]),
    "less": (SOL, "DEPOSIT_AMOUNT_DIFFERS", lambda p, d: [_transfer(p, _to(d), d.units - 1)]),
    "another token": (
        DOLLAR, "TOKEN_SOLD_DIFFERS",
        lambda p, d: [_open(p, _to(d), USDT), _tokens(p, _to(d), d.units, USDT)],
    ),
    "coins instead of tokens": (
        DOLLAR, "TOKEN_SOLD_DIFFERS", lambda p, d: [_transfer(p, _to(d), d.units)],
    ),
    "other decimals": (
        DOLLAR, "SOLANA_DECIMALS",
        lambda p, d: [_open(p, _to(d)), _tokens(p, _to(d), d.units, decimals=7)],
    ),
    "an account for a stranger": (
        SOL, "RENT_FOR_STRANGER",
        lambda p, d: [_transfer(p, _to(d), d.units), _open(p, THIEF.pubkey())],
    ),
    "an unknown instruction": (
        SOL, "SOLANA_INSTRUCTION_UNKNOWN",
        lambda p, d: [
            _transfer(p, _to(d), d.units), Instruction(THIEF.pubkey(), b"\1", []),
        ],
    ),
    "an approval for a thief": (
        DOLLAR, "SOLANA_INSTRUCTION_UNKNOWN",
        lambda p, d: [
            _open(p, _to(d)), _tokens(p, _to(d), d.units),
            Instruction(TOKEN, b"\x04" + b"\xff" * 8, _tokens(p, _to(d), 1).accounts[:3]),
        ],
    ),
    "a durable nonce": (
        SOL, "SOLANA_DURABLE_NONCE",
        lambda p, d: [
            AdvanceNonce(THIEF.pubkey(), USDC, p.me).build(), _transfer(p, _to(d), d.units),
        ],
    ),
    "a dear fee": (
        SOL, "GAS_ABOVE",
        lambda p, d: [
            ComputeLimit(1_000_000).build(), ComputePrice(10**8).build(),
            _transfer(p, _to(d), d.units),
        ],
    ),
    "itself": (SOL, "DEPOSIT_TO_ITSELF", lambda p, d: [_transfer(p, p.me, d.units)]),
    "without the memo": (
        SOL, "DEPOSIT_TAG_DIFFERS", lambda p, d: [_transfer(p, _to(d), d.units)],
    ),
    "another memo": (
        SOL, "DEPOSIT_TAG_DIFFERS",
        lambda p, d: [_transfer(p, _to(d), d.units), Memo("54321").build()],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TAMPERED)
async def test_a_changed_transfer_is_never_signed(payer: Payer, what: str) -> None:
    asset, code, changed = TAMPERED[what]
    tag = "12345" if "memo" in what else None
    promise = payer.promise(what, asset, tag=tag)
    deposit = promise.deposit
    assert deposit is not None
    payload = await payer.payload(Purpose.DEPOSIT, changed(payer, deposit))
    assert code in await payer.refused(payload, promise)


async def test_nobody_else_pays_the_fee(payer: Payer) -> None:
    promise = payer.promise("payer", SOL)
    deposit = promise.deposit
    assert deposit is not None
    await payer.world.node.fund(str(THIEF.pubkey()), 10**9)
    other = await payer.payload(
        Purpose.DEPOSIT, [_transfer(payer, _to(deposit), COINS)], payer=THIEF.pubkey()
    )
    assert "FEE_PAYER_DIFFERS" in await payer.refused(other, promise)


async def test_what_the_order_says_by_now_decides(payer: Payer) -> None:
    """The same honest transfer, for an order that does not ask for it any more."""
    promise = payer.promise("order", SOL)
    deposit, draft = promise.deposit, await payer.draft(promise)
    assert deposit is not None
    late = datetime.now(UTC) + timedelta(seconds=20)
    for code, fields in {
        "DEPOSIT_ADDRESS_DIFFERS": {"address": str(THIEF.pubkey())},
        "DEPOSIT_AMOUNT_DIFFERS": {"units": COINS + 1},
        "DEPOSIT_EXPIRED": {"expires": late},
        "DEPOSIT_TAG_DIFFERS": {"tag": "777"},
    }.items():
        now = replace(promise, deposit=replace(deposit, **fields))  # type: ignore[arg-type]
        assert code in await payer.refused(draft, now)
    dearer = replace(promise, sell_units=COINS - COINS // 100)
    assert "DEPOSIT_ABOVE" in await payer.refused(draft, dearer)


async def test_what_cannot_be_paid_fails_before_it_is_signed(payer: Payer) -> None:
    rich = 10**6 * 10**6
    promise = replace(payer.promise("rich", DOLLAR, units=rich), sell_units=rich)
    assert "SIMULATION_FAILED" in await payer.refused(await payer.draft(promise), promise)
    for fields in ({"address": "no address"}, {"address": "1" * 31}):
        with pytest.raises(Refused):
            await payer.draft(payer.promise("bad", SOL, **fields))
    with pytest.raises(Refused):
        await payer.draft(replace(promise, deposit=None))
    for contract in (str(THIEF.pubkey()), "no address"):
        with pytest.raises(Refused):
            await payer.draft(replace(promise, sell=Asset("X", 6, contract)))
