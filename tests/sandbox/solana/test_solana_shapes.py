"""Our answers as the field's own client library reads them, and what is refused."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message
from solders.rpc import responses
from solders.signature import Signature
from solders.transaction import VersionedTransaction
from solders.transaction_status import TransactionConfirmationStatus

from sandbox.solana.solana_world import SOL, USDC, World, memo, transfer
from swapdesk.chain.solana import (
    TOKEN,
    ComputePrice,
    CreateTokenAccount,
    TransferChecked,
    token_account,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def read(world: World, kind: Any, method: str, *params: Any) -> Any:
    """The answer as the library reads it; an answer of another shape is its error."""
    found = kind.from_json(json.dumps(await world.ask(method, *params)))
    assert type(found).__name__ == kind.__name__, found
    return found


async def value(world: World, kind: Any, method: str, *params: Any) -> Any:
    return (await read(world, kind, method, *params)).value


def text(transaction: VersionedTransaction) -> str:
    return base64.b64encode(bytes(transaction)).decode()


async def test_the_chain(world: World) -> None:
    world.time.pass_blocks(32)
    assert await value(world, responses.GetHealthResp, "getHealth") == "ok"
    version = await value(world, responses.GetVersionResp, "getVersion")
    assert version.solana_core == "3.0.0+swapdesk"
    genesis = await value(world, responses.GetGenesisHashResp, "getGenesisHash")
    assert str(genesis) == await world.client.genesis_hash()
    latest = await value(world, responses.GetLatestBlockhashResp, "getLatestBlockhash")
    height = await value(world, responses.GetBlockHeightResp, "getBlockHeight")
    assert latest.last_valid_block_height == height + 150
    slot = await value(world, responses.GetSlotResp, "getSlot")
    blockhash = str(latest.blockhash)
    assert await value(world, responses.IsBlockhashValidResp, "isBlockhashValid", blockhash) is True
    rent = await value(
        world,
        responses.GetMinimumBalanceForRentExemptionResp,
        "getMinimumBalanceForRentExemption",
        0,
    )
    assert rent == 890_880
    before = await value(world, responses.GetEpochInfoResp, "getEpochInfo")
    await world.sent([await world.rich()], memo("counted once it is final"))
    world.time.pass_blocks(32)
    epoch = await value(world, responses.GetEpochInfoResp, "getEpochInfo")
    assert epoch.absolute_slot == slot + 32 == epoch.epoch * 432_000 + epoch.slot_index
    assert (epoch.block_height, epoch.slots_in_epoch) == (height + 32, 432_000)
    assert epoch.transaction_count == before.transaction_count + 2
    newest = await value(
        world, responses.GetEpochInfoResp, "getEpochInfo", {"commitment": "processed"}
    )
    assert newest.absolute_slot == epoch.absolute_slot + 32


async def test_accounts_and_tokens(world: World) -> None:
    owner = await world.rich(3 * SOL)
    key = str(owner.pubkey())
    await world.node.fund(key, 1_500_000, str(USDC))
    held = token_account(owner.pubkey(), USDC)
    assert await value(world, responses.GetBalanceResp, "getBalance", key) == 3 * SOL
    raw, parsed = {"encoding": "base64"}, {"encoding": "jsonParsed"}
    asked = ("getAccountInfo", str(held))
    assert (await value(world, responses.GetAccountInfoResp, *asked, raw)).owner == TOKEN
    shown = (await value(world, responses.GetAccountInfoJsonParsedResp, *asked, parsed)).data
    assert shown.program == "spl-token"
    assert shown.parsed["info"]["tokenAmount"]["uiAmountString"] == "1.5"
    asked = ("getTokenAccountBalance", str(held))
    amount = await value(world, responses.GetTokenAccountBalanceResp, *asked)
    assert (amount.amount, amount.decimals) == ("1500000", 6)
    asked = ("getTokenSupply", str(USDC))
    supply = await value(world, responses.GetTokenSupplyResp, *asked)
    asked = ("getAccountInfo", str(USDC))
    mint = (await value(world, responses.GetAccountInfoJsonParsedResp, *asked, parsed)).data
    told = (mint.parsed["info"]["supply"], mint.parsed["info"]["decimals"])
    assert told == (supply.amount, supply.decimals)
    kind, kind_parsed = (
        responses.GetTokenAccountsByOwnerResp,
        responses.GetTokenAccountsByOwnerJsonParsedResp,
    )
    for filters in ({"mint": str(USDC)}, {"programId": str(TOKEN)}):
        for shape, options in ((kind, raw), (kind_parsed, parsed)):
            found = await value(world, shape, "getTokenAccountsByOwner", key, filters, options)
            assert [each.pubkey for each in found] == [held]


async def test_many_accounts_are_told_in_the_order_in_which_they_were_asked_for(
    world: World,
) -> None:
    owner, nobody = await world.rich(3 * SOL), Keypair()
    keys = [str(each) for each in (nobody.pubkey(), owner.pubkey(), USDC)]
    asked = ("getMultipleAccounts", keys)
    missing, coins, mint = await value(world, responses.GetMultipleAccountsResp, *asked)
    assert missing is None
    assert (coins.lamports, bytes(coins.data)) == (3 * SOL, b"")
    assert (mint.owner, len(mint.data)) == (TOKEN, 82)
    parsed = {"encoding": "jsonParsed"}
    kind = responses.GetMultipleAccountsMaybeJsonParsedResp
    *_, mint = await value(world, kind, *asked, parsed)
    assert mint.data.parsed["info"]["decimals"] == 6
    assert await value(world, responses.GetMultipleAccountsResp, "getMultipleAccounts", []) == []
    for options in ({}, parsed):
        alone = (await world.ask("getAccountInfo", keys[0], options))["result"]["value"]
        assert alone is None


async def test_the_fees_of_recent_blocks(world: World) -> None:
    """Of each complete block the lowest price; of an account the lowest that wrote to it."""
    owner, other = await world.rich(3 * SOL), await world.rich(3 * SOL)
    world.time.pass_blocks(151)
    kind, method = responses.GetRecentPrioritizationFeesResp, "getRecentPrioritizationFees"

    async def told(*params: Any) -> list[int]:
        found = await value(world, kind, method, *params)
        slot = (await world.ask("getSlot", {"commitment": "processed"}))["result"]
        assert [each.slot for each in found] == list(range(slot - 150, slot))
        return [each.prioritization_fee for each in found]

    for payer, price in ((owner, 500), (owner, 700), (other, 90)):
        await world.sent([payer], ComputePrice(price).build(), memo("hurry"))
    assert set(await told()) == {0}, "the newest block is not complete"
    world.time.pass_blocks(1)
    assert (await told())[-1] == 90
    assert (await told([str(owner.pubkey())]))[-1] == 500
    assert (await told([str(owner.pubkey()), str(other.pubkey())]))[-1] == 500
    assert (await told([str(Keypair().pubkey())]))[-1] == 90
    world.time.pass_blocks(150)
    assert set(await told([str(owner.pubkey())])) == {0}


async def test_transactions(world: World) -> None:
    owner, receiver = await world.rich(3 * SOL), Keypair().pubkey()
    await world.node.fund(str(owner.pubkey()), 1_500_000, str(USDC))
    source, target = token_account(owner.pubkey(), USDC), token_account(receiver, USDC)
    sent = await world.built(
        [owner],
        CreateTokenAccount(owner.pubkey(), receiver, USDC).build(),
        TransferChecked(source, USDC, target, owner.pubkey(), 500_000, 6).build(),
        memo("order"),
    )
    simulated = await value(
        world,
        responses.SimulateTransactionResp,
        "simulateTransaction",
        text(sent),
        {
            "encoding": "base64",
            "innerInstructions": True,
            "replaceRecentBlockhash": True,
        },
    )
    assert simulated.err is None
    assert simulated.units_consumed > 5_000
    assert simulated.replacement_blockhash.blockhash is not None
    assert simulated.inner_instructions
    seen = await world.client.simulate(bytes(sent), list(map(str, sent.message.account_keys)))
    signature = await world.client.send(bytes(sent))
    world.time.pass_blocks(40)
    _, moved = await world.executed(signature)
    assert moved == seen.moves.lamports
    assert {each.account: (each.before, each.after) for each in seen.moves.tokens} == {
        str(source): (1_500_000, 1_000_000),
        str(target): (0, 500_000),
    }
    asked: tuple[Any, ...] = ("getSignatureStatuses", [signature])
    (status,) = await value(world, responses.GetSignatureStatusesResp, *asked)
    assert status.confirmation_status == TransactionConfirmationStatus.Finalized
    assert (status.confirmations, status.err) == (None, None)
    for encoding in ("base64", "json"):
        options = {"encoding": encoding, "maxSupportedTransactionVersion": 0}
        asked = ("getTransaction", signature, options)
        found = await value(world, responses.GetTransactionResp, *asked)
        meta = found.transaction.meta
        assert (meta.err, meta.fee, found.slot) == (None, 5_000, status.slot)
    asked = ("getSignaturesForAddress", str(receiver), {"limit": 5})
    (named,) = await value(world, responses.GetSignaturesForAddressResp, *asked)
    assert (str(named.signature), named.slot, named.err) == (signature, status.slot, None)
    assert (named.memo, named.block_time) == ("[5] order", found.block_time)
    assert named.confirmation_status == TransactionConfirmationStatus.Finalized
    missing = ("getTransaction", str(Keypair().sign_message(b"x")))
    assert await value(world, responses.GetTransactionResp, *missing) is None


async def test_the_history_of_an_address_is_read_in_pages(world: World) -> None:
    owner = await world.rich()
    sent = [await world.sent([owner], memo(str(number))) for number in range(4)]
    world.time.pass_blocks(32)

    async def page(**options: Any) -> list[str]:
        found = await world.ask("getSignaturesForAddress", str(owner.pubkey()), options)
        return [each["signature"] for each in found["result"]]

    assert await page(limit=2) == sent[:1:-1]
    assert await page(before=sent[2], limit=2) == sent[1::-1]
    assert await page(until=sent[2]) == sent[3:]
    late = await world.sent([owner], memo("not final"))
    assert (await page(limit=1), (await page(limit=1, commitment="confirmed"))) == (
        sent[3:],
        sent[3:],
    )
    world.time.pass_blocks(2)
    assert await page(limit=1, commitment="confirmed") == [late]


async def test_legacy_transactions_are_executed(world: World) -> None:
    sender, receiver = await world.rich(), Keypair().pubkey()
    blockhash = Hash.from_string((await world.client.latest_blockhash()).blockhash)
    message = Message.new_with_blockhash(
        [transfer(sender, receiver, SOL)], sender.pubkey(), blockhash
    )
    legacy = await world.client.send(bytes(VersionedTransaction(message, [sender])))
    modern = await world.sent([sender], memo("x"))
    assert await world.balance(receiver) == SOL
    world.time.pass_blocks(2)
    found = await world.ask("getTransaction", legacy, {"commitment": "confirmed"})
    assert found["result"]["version"] == "legacy"
    refused = await world.ask("getTransaction", modern, {"commitment": "confirmed"})
    assert refused["error"]["code"] == -32015


NO_MINT = str(Keypair().pubkey())
REFUSED: list[tuple[str, Any, int]] = [
    *(
        (method, params, -32602)
        for method, params in (
            ("sendTransaction", ["AAAA", {"encoding": "base64"}]),
            ("sendTransaction", ["!!", {"encoding": "base64"}]),
            ("sendTransaction", ["A" * 1645, {"encoding": "base64"}]),
            ("sendTransaction", ["1" * 1684]),
            ("sendTransaction", []),
            ("simulateTransaction", [5]),
            ("getBalance", ["x" * 10_000]),
            ("getBalance", ["0OIl"]),
            ("getBalance", ["11111111111111111111111111111112", {"commitment": "sure"}]),
            ("getBalance", [{"address": 1}]),
            ("getMinimumBalanceForRentExemption", [-1]),
            ("getMinimumBalanceForRentExemption", [1 << 40]),
            ("getTokenAccountsByOwner", [str(USDC), {}]),
            ("getTokenAccountsByOwner", [str(USDC), {"mint": NO_MINT}]),
            ("getTokenAccountsByOwner", [str(USDC), {"programId": NO_MINT}]),
            ("getTokenAccountBalance", [str(USDC)]),
            ("getTokenSupply", [NO_MINT]),
            ("getTokenSupply", [str(TOKEN)]),
            ("getMultipleAccounts", []),
            ("getMultipleAccounts", [[str(USDC)] * 101]),
            ("getMultipleAccounts", [["0OIl"]]),
            ("getMultipleAccounts", [[str(USDC)], {"encoding": "base16"}]),
            ("getRecentPrioritizationFees", [[str(USDC)] * 129]),
            ("getRecentPrioritizationFees", [[7]]),
            ("getEpochInfo", [{"commitment": "sure"}]),
            ("getAccountInfo", [str(USDC), {"dataSlice": {"offset": 0, "length": 4}}]),
            ("getSignatureStatuses", [["1" * 64] * 257]),
            ("getFeeForMessage", ["AQ=="]),
            ("isBlockhashValid", [7]),
            ("getBlockHeight", [{"minContextSlot": "1"}]),
            ("getTransaction", [str(Signature.default()), {"commitment": "processed"}]),
        )
    ),
    ("getProgramAccounts", [], -32601),
    ("getSlot", [{"minContextSlot": 1 << 60}], -32016),
]


async def test_what_cannot_be_answered_is_told_by_its_code(world: World) -> None:
    for method, params, code in REFUSED:
        answer = await world.ask(method, *params)
        assert answer["error"]["code"] == code, (method, params, answer)
    for method, most in (("getMultipleAccounts", 100), ("getRecentPrioritizationFees", 128)):
        assert "result" in await world.ask(method, [str(USDC)] * most)
