"""The embedded Solana chain over HTTP: what is executed, once, and what is not; our answers as the
field's own client library reads them, and what is refused."""

from __future__ import annotations

import base64
import errno
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.rpc import responses
from solders.signature import Signature
from solders.system_program import create_nonce_account
from solders.transaction import VersionedTransaction
from solders.transaction_status import TransactionConfirmationStatus

from sandbox.solana.solana_world import KEY, SOL, USDC, StandingTime, World, memo, running, transfer
from swapdesk.chain.node_http import NodeRefused, NodeUncertain
from swapdesk.chain.solana import (
    LOADERS,
    TOKEN,
    AdvanceNonce,
    ComputeLimit,
    ComputePrice,
    CreateTokenAccount,
    TransferChecked,
    token_account,
)
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.mined_log import ChainFileMismatch, LogDamaged, MinedLog
from swapdesk.sandbox.node.solana.chain import Mined
from swapdesk.sandbox.node.solana.genesis import catalogue_mints
from swapdesk.sandbox.node.solana.machine import Blocks
from swapdesk.sandbox.node.solana.node import OLDER_FILE, SolanaNode

pytestmark = pytest.mark.asyncio(loop_scope="module")
HASHES = Pubkey.from_string("SysvarRecentB1ockHashes11111111111111111111")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with running(tmp_path_factory.mktemp("chain")) as made:
        yield made


# How high the chain is, and which blockhashes are good: a matter of time alone


async def test_a_blockhash_is_good_for_150_blocks_from_its_own_on() -> None:
    time = StandingTime()
    blocks = Blocks(KEY, time, began_ms=time.now, reached=0)
    height = blocks.now().height
    blockhash, last = blocks.latest(height)
    assert last == height + 150
    assert not blocks.is_good(blocks.latest(height + 1)[0])
    time.pass_blocks(150)
    assert blocks.is_good(blockhash)
    time.pass_blocks(1)
    assert not blocks.is_good(blockhash)
    assert blocks.is_good(blocks.latest(height + 1)[0])


async def test_a_clock_that_was_set_back_takes_no_block_away() -> None:
    time = StandingTime()
    began = time.now
    first = Blocks(KEY, time, began_ms=began, reached=0)
    low = first.now().height
    time.pass_blocks(40)
    assert first.now().height == low + 40
    time.now = began
    for blocks in (first, Blocks(KEY, time, began_ms=began, reached=low + 40)):
        assert blocks.now().height == low + 40
    time.pass_blocks(41)
    assert first.now().height == low + 41


async def test_a_transfer_is_executed_kept_over_a_restart_and_never_repeated(
    tmp_path: Path,
) -> None:
    time = StandingTime()
    receiver = Keypair().pubkey()
    async with running(tmp_path, time=time) as world:
        sender = await world.rich(3 * SOL)
        sent = await world.built([sender], transfer(sender, receiver, SOL))
        time.pass_blocks(9)
        signature = await world.client.send(bytes(sent))
        assert signature == str(sent.signatures[0])
        genesis, height = await world.client.genesis_hash(), await world.client.block_height()
    time.pass_blocks(-9)
    async with running(tmp_path, time=time) as world:
        assert await world.client.genesis_hash() == genesis
        assert await world.client.block_height() == height
        # Its blockhash is good still; only the record refuses it.
        assert await world.client.is_blockhash_good(str(sent.message.recent_blockhash))
        assert (await world.put(sent))["error"]["data"]["err"] == "AlreadyProcessed"
        assert (await world.put(sent, skipPreflight=True))["result"] == signature
        assert await world.client.send(bytes(sent)) == signature
        assert await world.balance(receiver) == SOL
        assert await world.balance(sender) == 2 * SOL - 5_000
        assert await world.client.status(signature) is not None
        time.pass_blocks(11)
        _, moved = await world.executed(signature)
        assert moved[str(receiver)] == (0, SOL)


async def test_the_same_message_under_another_signature_is_a_repeat(tmp_path: Path) -> None:
    """The first signature is the name of a transaction; a node that knows it alone pays twice."""
    time = StandingTime()
    async with running(tmp_path, time=time) as world:
        sender = await world.rich()
        sent = await world.built([sender], transfer(sender, Keypair().pubkey(), SOL))
        await world.client.send(bytes(sent))
    log = MinedLog(tmp_path / "chains", "solana")
    snapshot, payloads = log.read()
    log.replace(snapshot)
    for payload in payloads:
        mined = msgspec.msgpack.decode(payload, type=Mined)
        other = mined.raw.replace(bytes(sent.signatures[0]), bytes(64))
        log.append(msgspec.msgpack.encode(msgspec.structs.replace(mined, raw=other)))
    log.close()
    async with running(tmp_path, time=time) as world:
        assert (await world.put(sent))["error"]["data"]["err"] == "AlreadyProcessed"
        await world.put(sent, skipPreflight=True)
        assert await world.balance(sender) == 99 * SOL - 5_000


async def test_an_expired_transaction_is_never_executed(world: World) -> None:
    sender, receiver = await world.rich(), Keypair().pubkey()
    sent = await world.built([sender], transfer(sender, receiver, SOL))
    world.time.pass_blocks(151)
    with pytest.raises(NodeRefused, match="Blockhash not found") as refused:
        await world.client.send(bytes(sent))
    assert (refused.value.code, refused.value.reason) == (-32002, "BlockhashNotFound")
    answer = await world.put(sent, skipPreflight=True)
    assert answer["result"] == str(sent.signatures[0])
    assert await world.client.status(str(sent.signatures[0])) is None
    assert await world.balance(receiver) == 0


async def test_commitments_lag_behind(world: World) -> None:
    heights = {}
    for commitment in ("processed", "confirmed", "finalized"):
        options = {"commitment": commitment}
        height = (await world.ask("getBlockHeight", options))["result"]
        slot = (await world.ask("getSlot", options))["result"]
        found = (await world.ask("getLatestBlockhash", options))["result"]
        assert found["value"]["lastValidBlockHeight"] == height + 150
        assert found["context"]["slot"] == slot != height
        heights[commitment] = height
        blockhash = found["value"]["blockhash"]
        assert (await world.ask("isBlockhashValid", blockhash, options))["result"]["value"] is True
    assert heights["processed"] - heights["confirmed"] == 2
    assert heights["processed"] - heights["finalized"] == 32
    sent = await world.sent([await world.rich()], memo("how far"))
    levels = []
    for blocks in (0, 1, 1, 29, 1):
        world.time.pass_blocks(blocks)
        (status,) = (await world.ask("getSignatureStatuses", [sent]))["result"]["value"]
        levels.append((status["confirmationStatus"], status["confirmations"]))
    assert levels == [
        ("processed", 0),
        ("processed", 1),
        ("confirmed", 2),
        ("confirmed", 31),
        ("finalized", None),
    ]
    world.time.pass_blocks(200)
    assert (await world.ask("getSignatureStatuses", [sent]))["result"]["value"] == [None]
    assert await world.client.status(sent) is not None


async def test_what_fails_in_a_program_pays_its_fee_and_is_recorded(world: World) -> None:
    sender = await world.rich(2 * SOL)
    sent = await world.built([sender], transfer(sender, Keypair().pubkey(), 3 * SOL))
    with pytest.raises(NodeRefused, match=r"Transaction simulation failed: .*0x1") as refused:
        await world.client.send(bytes(sent))
    assert refused.value.reason == {"InstructionError": [0, {"Custom": 1}]}
    answer = await world.put(sent)
    assert any("insufficient lamports" in line for line in answer["error"]["data"]["logs"])
    read = responses.SendTransactionResp.from_json(json.dumps(answer))
    assert type(read).__name__ == "SendTransactionPreflightFailureMessage"
    assert await world.balance(sender) == 2 * SOL
    await world.put(sent, skipPreflight=True)
    status = await world.client.status(str(sent.signatures[0]))
    assert status.error == {"InstructionError": [0, {"Custom": 1}]}
    world.time.pass_blocks(2)
    fee, moved = await world.executed(str(sent.signatures[0]))
    assert fee == 5_000
    assert moved == {str(sender.pubkey()): (2 * SOL, 2 * SOL - 5_000)}


async def test_who_cannot_pay_the_fee_leaves_no_trace(world: World) -> None:
    nobody = Keypair()
    sent = await world.built([nobody], memo("nothing"))
    assert (await world.put(sent, skipPreflight=True))["result"]
    assert await world.client.status(str(sent.signatures[0])) is None
    await world.node.fund(str(nobody.pubkey()), SOL)
    await world.client.send(bytes(sent))
    assert await world.client.status(str(sent.signatures[0])) is not None


async def test_signatures_are_checked(world: World) -> None:
    sender, maker = await world.rich(), await world.rich()
    whole = await world.built(
        [sender, maker],
        transfer(sender, maker.pubkey(), SOL),
        transfer(maker, sender.pubkey(), 2 * SOL),
    )
    other = await world.built([sender, maker], transfer(maker, sender.pubkey(), 3))
    before = await world.balance(sender)
    for signatures in (
        [whole.signatures[0], Signature.default()],
        [whole.signatures[0], other.signatures[1]],
        [Signature.default(), whole.signatures[1]],
    ):
        half = VersionedTransaction.populate(whole.message, signatures)
        assert (await world.put(half))["error"]["code"] == -32003
        checked = await world.put(half, "simulateTransaction", sigVerify=True)
        assert checked["error"]["code"] == -32003
        seen = await world.client.simulate(bytes(half), keys_of(half))
        assert seen.moves.lamports[str(sender.pubkey())] == (before, before + SOL - 10_000)
        await world.put(half, skipPreflight=True)
        assert await world.balance(sender) == before
    await world.client.send(bytes(whole))
    assert await world.balance(sender) == before + SOL - 10_000


def keys_of(transaction: VersionedTransaction) -> list[str]:
    return [str(key) for key in transaction.message.account_keys]


async def too_large(world: World, sender: Keypair) -> VersionedTransaction:
    rows = [transfer(sender, Keypair().pubkey(), SOL) for _ in range(22)]
    await world.sent([sender], *rows[:21])
    return await world.built([sender], *rows)


async def durable(world: World, sender: Keypair) -> VersionedTransaction:
    nonce = Keypair()
    made = create_nonce_account(sender.pubkey(), nonce.pubkey(), sender.pubkey(), 2 * SOL)
    await world.sent([sender, nonce], *made)
    advance = AdvanceNonce(nonce.pubkey(), HASHES, sender.pubkey()).build()
    return await world.built([sender], advance, memo("later"))


async def with_table(world: World, sender: Keypair) -> VersionedTransaction:
    receiver = Keypair().pubkey()
    table = AddressLookupTableAccount(Keypair().pubkey(), [receiver])
    blockhash = Hash.from_string((await world.client.latest_blockhash()).blockhash)
    sends = [transfer(sender, receiver, SOL)]
    message = MessageV0.try_compile(sender.pubkey(), sends, [table], blockhash)
    return VersionedTransaction(message, [sender])


async def test_what_the_sandbox_does_not_execute_is_refused(world: World) -> None:
    sender = await world.rich(1_000 * SOL)
    refused = [
        (await too_large(world, sender), "more than 1232"),
        (await durable(world, sender), "durable nonces are refused"),
        (await with_table(world, sender), "lookup tables are not served"),
    ]
    for loader in LOADERS:
        loaded = await world.built([sender], Instruction(loader, b"\0\0\0\0", []))
        refused.append((loaded, "no programs are deployed"))
    for sent, words in refused:
        for method in ("sendTransaction", "simulateTransaction"):
            answer = await world.put(sent, method, skipPreflight=True)
            assert answer["error"]["code"] == -32602
            assert words in answer["error"]["message"]


async def test_the_catalogue_and_what_is_made_of_it_survive(tmp_path: Path) -> None:
    time = StandingTime()
    async with running(tmp_path, time=time) as world:
        owner = await world.rich()
        await world.node.fund(str(owner.pubkey()), 5, str(USDC))
    async with running(tmp_path, time=time) as world:
        (held,) = await world.client.holdings(str(owner.pubkey()), str(USDC))
        assert (held.units, held.decimals) == (5, 6)
        mints = catalogue_mints()
        assert len(mints) > 30
        for each in mints:
            supply = (await world.ask("getTokenSupply", each.address))["result"]["value"]
            made = 5 if each.address == str(USDC) else 0
            assert supply["amount"] == str(each.supply + made)
            assert supply["decimals"] == each.decimals
        # A token account that is closed is gone for good.
        place, key = token_account(owner.pubkey(), USDC), owner.pubkey()
        signer = AccountMeta(key, True, True)
        burnt = [AccountMeta(place, False, True), AccountMeta(USDC, False, True), signer]
        closed = [AccountMeta(place, False, True), AccountMeta(key, False, True), signer]
        await world.sent(
            [owner],
            Instruction(TOKEN, b"\x08" + (5).to_bytes(8, "little"), burnt),
            Instruction(TOKEN, b"\x09", closed),
        )
        assert await world.client.holdings(str(owner.pubkey()), str(USDC)) == []
    async with running(tmp_path, time=time) as world:
        assert await world.client.holdings(str(owner.pubkey()), str(USDC)) == []


async def test_fees_are_what_is_charged(world: World) -> None:
    sender, other = await world.rich(), await world.rich()
    cases: list[tuple[list[Keypair], list[Instruction]]] = [
        ([sender], [memo("plain")]),
        ([sender, other], [transfer(other, sender.pubkey(), 1), memo("two")]),
        ([sender], [ComputeLimit(30_000).build(), ComputePrice(7_777_777).build(), memo("a")]),
        ([sender], [ComputePrice(1_000_001).build(), memo("b")]),
        ([sender], [ComputePrice(999).build(), transfer(sender, other.pubkey(), 5)]),
        (
            [sender],
            [
                ComputePrice(50_000).build(),
                CreateTokenAccount(sender.pubkey(), other.pubkey(), USDC).build(),
                transfer(sender, other.pubkey(), 5),
                memo("c"),
            ],
        ),
    ]
    for signers, instructions in cases:
        sent = await world.built(signers, *instructions)
        expected = await world.fee(to_bytes_versioned(sent.message))
        signature = await world.client.send(bytes(sent))
        world.time.pass_blocks(2)
        assert (await world.executed(signature))[0] == expected, instructions
    world.time.pass_blocks(151)
    assert await world.fee(to_bytes_versioned(sent.message)) is None


async def test_the_faucet_and_the_faults_of_the_node(world: World) -> None:
    owner = str(Keypair().pubkey())
    world.faults.set("drop_transaction", "chain", "solana", times=1)
    # The faucet's own transactions are no client's.
    paid = await world.node.fund(owner, 2_500_000, str(USDC))
    assert await world.client.status(str(paid["signature"])) is not None
    (held,) = await world.client.holdings(owner, str(USDC))
    assert held.units == 2_500_000
    for wrong in (("0x" + "1" * 40, 1), (owner, 0), (owner, 1 << 64), (owner, 1, owner)):
        with pytest.raises(Problem):
            await world.node.fund(*wrong)
    world.faults.active.clear()
    sender, receiver = await world.rich(), Keypair().pubkey()
    sent = await world.built([sender], transfer(sender, receiver, SOL))
    world.faults.set("drop_transaction", "chain", "solana", times=1)
    for arrived in (0, SOL):
        assert await world.client.send(bytes(sent)) == str(sent.signatures[0])
        assert await world.balance(receiver) == arrived
    world.faults.set("node_down", "chain", "solana", times=1)
    with pytest.raises(NodeUncertain):
        await world.client.block_height()
    assert await world.client.block_height() > 0


async def test_another_key_or_world_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        first = await world.client.genesis_hash()
    log = tmp_path / "other" / "chains" / "solana.1.log"
    async with running(tmp_path / "other", key=KEY[::-1]) as world:
        await world.rich()
        await world.rich()
        assert await world.client.genesis_hash() != first
    with pytest.raises(ChainFileMismatch, match="other tokens or keys"):
        SolanaNode(tmp_path, KEY[::-1], now_ms=StandingTime(), faults=world.faults)
    content = bytearray(log.read_bytes())
    content[100] ^= 1
    log.write_bytes(content)
    with pytest.raises(LogDamaged):
        SolanaNode(tmp_path / "other", KEY[::-1], now_ms=StandingTime(), faults=world.faults)
    (tmp_path / "chains" / OLDER_FILE).touch()
    with pytest.raises(ChainFileMismatch, match="another release"):
        SolanaNode(tmp_path, KEY, now_ms=StandingTime(), faults=world.faults)


async def test_a_disk_that_fails_leaves_memory_as_the_disk_is(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender, receiver = await world.rich(), Keypair().pubkey()
    sent = await world.built([sender], transfer(sender, receiver, SOL))

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as disk:
        disk.setattr("os.fsync", full)
        answer = await world.put(sent)
    assert answer["error"]["code"] == -32603
    assert await world.balance(receiver) == 0
    assert await world.balance(sender) == 100 * SOL
    await world.client.send(bytes(sent))
    assert await world.balance(receiver) == SOL


async def read(world: World, kind: Any, method: str, *params: Any) -> Any:
    """The answer as the library reads it; an answer of another shape is its error."""
    found = kind.from_json(json.dumps(await world.ask(method, *params)))
    assert type(found).__name__ == kind.__name__, found
    return found


async def value(world: World, kind: Any, method: str, *params: Any) -> Any:
    return (await read(world, kind, method, *params)).value


def text(transaction: VersionedTransaction) -> str:
    return base64.b64encode(bytes(transaction)).decode()


OF_THE_CHAIN: list[tuple[Any, str, list[Any]]] = [
    (responses.GetHealthResp, "getHealth", []),
    (responses.GetVersionResp, "getVersion", []),
    (responses.GetGenesisHashResp, "getGenesisHash", []),
    (responses.GetLatestBlockhashResp, "getLatestBlockhash", []),
    (responses.GetBlockHeightResp, "getBlockHeight", []),
    (responses.GetSlotResp, "getSlot", []),
    (responses.GetMinimumBalanceForRentExemptionResp, "getMinimumBalanceForRentExemption", [0]),
    (responses.GetEpochInfoResp, "getEpochInfo", []),
]


async def test_the_chain(world: World) -> None:
    world.time.pass_blocks(32)
    told = {
        method: await value(world, kind, method, *params) for kind, method, params in OF_THE_CHAIN
    }
    height, slot, before = told["getBlockHeight"], told["getSlot"], told["getEpochInfo"]
    assert (told["getHealth"], told["getVersion"].solana_core) == ("ok", "3.0.0+swapdesk")
    assert str(told["getGenesisHash"]) == await world.client.genesis_hash()
    assert told["getMinimumBalanceForRentExemption"] == 890_880
    blockhash = str(told["getLatestBlockhash"].blockhash)
    assert await value(world, responses.IsBlockhashValidResp, "isBlockhashValid", blockhash) is True
    await world.sent([await world.rich()], memo("counted once it is final"))
    world.time.pass_blocks(32)
    epoch = await value(world, responses.GetEpochInfoResp, "getEpochInfo")
    assert epoch.absolute_slot == slot + 32 == epoch.epoch * 432_000 + epoch.slot_index
    assert (epoch.block_height, epoch.slots_in_epoch) == (height + 32, 432_000)
    assert epoch.transaction_count == before.transaction_count + 2


async def test_accounts_and_tokens(world: World) -> None:
    """Many are told in the order in which they were asked for."""
    owner, nobody = await world.rich(3 * SOL), str(Keypair().pubkey())
    key, raw, parsed = str(owner.pubkey()), {"encoding": "base64"}, {"encoding": "jsonParsed"}
    await world.node.fund(key, 1_500_000, str(USDC))
    held = token_account(owner.pubkey(), USDC)
    assert await value(world, responses.GetBalanceResp, "getBalance", key) == 3 * SOL
    asked = ("getAccountInfo", str(held))
    assert (await value(world, responses.GetAccountInfoResp, *asked, raw)).owner == TOKEN
    shown = (await value(world, responses.GetAccountInfoJsonParsedResp, *asked, parsed)).data
    assert shown.program == "spl-token"
    assert shown.parsed["info"]["tokenAmount"]["uiAmountString"] == "1.5"
    asked = ("getTokenAccountBalance", str(held))
    amount = await value(world, responses.GetTokenAccountBalanceResp, *asked)
    assert (amount.amount, amount.decimals) == ("1500000", 6)
    supply = await value(world, responses.GetTokenSupplyResp, "getTokenSupply", str(USDC))
    many = ("getMultipleAccounts", [nobody, key, str(USDC)])
    missing, coins, mint = await value(world, responses.GetMultipleAccountsResp, *many)
    assert (missing, coins.lamports, bytes(coins.data)) == (None, 3 * SOL, b"")
    assert (mint.owner, len(mint.data)) == (TOKEN, 82)
    kind = responses.GetMultipleAccountsMaybeJsonParsedResp
    *_, mint = await value(world, kind, *many, parsed)
    told = mint.data.parsed["info"]
    assert (told["supply"], told["decimals"]) == (supply.amount, supply.decimals)
    for options in (raw, parsed):
        assert (await world.ask("getAccountInfo", nobody, options))["result"]["value"] is None
    for filters in ({"mint": str(USDC)}, {"programId": str(TOKEN)}):
        for shape, options in (
            (responses.GetTokenAccountsByOwnerResp, raw),
            (responses.GetTokenAccountsByOwnerJsonParsedResp, parsed),
        ):
            found = await value(world, shape, "getTokenAccountsByOwner", key, filters, options)
            assert [each.pubkey for each in found] == [held]


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
