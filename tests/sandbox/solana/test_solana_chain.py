"""The embedded Solana chain over HTTP: what is executed, once, and what is not."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import create_nonce_account
from solders.transaction import VersionedTransaction

from sandbox.solana.solana_world import (
    KEY,
    SOL,
    USDC,
    StandingTime,
    World,
    memo,
    running,
    signed,
    transfer,
)
from swapdesk.chain.rpc.solana import SolanaRefused, SolanaUncertain
from swapdesk.chain.solana import (
    LOADERS,
    TOKEN,
    AdvanceNonce,
    ComputeLimit,
    ComputePrice,
    CreateTokenAccount,
    InitializeMint,
    MintTo,
    TransferChecked,
    token_account,
)
from swapdesk.sandbox.node.evm.schema import ChainFileMismatch
from swapdesk.sandbox.node.solana.embedding import SolanaEmbedding
from swapdesk.sandbox.node.solana.genesis import catalogue_mints

HASHES = Pubkey.from_string("SysvarRecentB1ockHashes11111111111111111111")


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with running(tmp_path) as made:
        yield made


def text(transaction: VersionedTransaction) -> str:
    return base64.b64encode(bytes(transaction)).decode()


async def test_a_transfer_is_executed_kept_over_a_restart_and_never_repeated(
    tmp_path: Path,
) -> None:
    time = StandingTime()
    receiver = Keypair().pubkey()
    async with running(tmp_path, time=time) as world:
        sender = await world.rich(3 * SOL)
        sent = await world.built([sender], transfer(sender, receiver, SOL))
        signature = await world.client.send(bytes(sent))
        assert signature == str(sent.signatures[0])
        assert await world.client.balance(str(receiver)) == SOL
        assert await world.client.balance(str(sender.pubkey())) == 2 * SOL - 5_000
        genesis = await world.client.genesis_hash()
    async with running(tmp_path, time=time) as world:
        assert await world.client.genesis_hash() == genesis
        assert await world.client.balance(str(receiver)) == SOL
        # Its blockhash is good still; only the record refuses it.
        assert await world.client.is_blockhash_good(str(sent.message.recent_blockhash))
        for options in ({}, {"skipPreflight": True}):
            answer = await world.ask(
                "sendTransaction", text(sent), {"encoding": "base64", **options}
            )
            if options:
                assert answer["result"] == signature
            else:
                assert answer["error"]["code"] == -32002
                assert answer["error"]["data"]["err"] == "AlreadyProcessed"
        assert await world.client.send(bytes(sent)) == signature
        assert await world.client.balance(str(receiver)) == SOL
        assert await world.client.balance(str(sender.pubkey())) == 2 * SOL - 5_000
        status = await world.client.status(signature)
        assert status is not None
        assert status.error is None
        time.pass_blocks(2)
        executed = await world.node.call(
            "getTransaction",
            [signature, {"commitment": "confirmed", "maxSupportedTransactionVersion": 0}],
        )
        assert executed["meta"]["postBalances"][0] == 2 * SOL - 5_000


async def test_the_same_message_under_another_signature_is_a_repeat(world: World) -> None:
    sender, other = await world.rich(), await world.rich()
    sent = await world.built(
        [sender, other], transfer(sender, other.pubkey(), SOL), transfer(other, sender.pubkey(), 1)
    )
    await world.client.send(bytes(sent))
    # The first signature is the name of a transaction; a node that knows it alone pays twice.
    connection = sqlite3.connect(world.embedding.path)
    with connection:
        connection.execute(
            "UPDATE transactions SET signature = ? WHERE signature = ?",
            (bytes(64), bytes(sent.signatures[0])),
        )
    connection.close()
    with pytest.raises(SolanaRefused, match="already been processed") as refused:
        await world.client.ask("sendTransaction", text(sent), {"encoding": "base64"})
    assert refused.value.reason == "AlreadyProcessed"


async def test_a_blockhash_is_good_for_150_blocks(world: World) -> None:
    sender, receiver = await world.rich(), Keypair().pubkey()
    first = await world.client.latest_blockhash()
    assert first.last_height == await world.client.block_height() + 150
    early = [
        signed(first.blockhash, [sender], transfer(sender, receiver, SOL), memo(str(number)))
        for number in range(2)
    ]
    world.time.pass_blocks(150)
    assert await world.client.block_height() == first.last_height
    assert await world.client.is_blockhash_good(first.blockhash)
    await world.client.send(bytes(early[0]))
    world.time.pass_blocks(1)
    assert not await world.client.is_blockhash_good(first.blockhash)
    with pytest.raises(SolanaRefused, match="Blockhash not found") as refused:
        await world.client.send(bytes(early[1]))
    assert refused.value.code == -32002
    assert refused.value.reason == "BlockhashNotFound"
    answer = await world.ask(
        "sendTransaction", text(early[1]), {"encoding": "base64", "skipPreflight": True}
    )
    assert answer["result"] == str(early[1].signatures[0])
    assert await world.client.status(str(early[1].signatures[0])) is None
    assert await world.client.balance(str(receiver)) == SOL
    # A jump over more than the window leaves none of the old ones good.
    newest = await world.client.latest_blockhash()
    world.time.pass_blocks(10_000)
    assert not await world.client.is_blockhash_good(newest.blockhash)
    assert await world.client.is_blockhash_good((await world.client.latest_blockhash()).blockhash)


async def test_a_hash_of_a_block_to_come_is_not_good(tmp_path: Path) -> None:
    time = StandingTime()
    async with running(tmp_path / "a", time=time) as world:
        early = time.now
        time.pass_blocks(1)
        tomorrow = await world.client.latest_blockhash()
    time.now = early
    async with running(tmp_path / "b", time=time) as world:
        assert not await world.client.is_blockhash_good(tomorrow.blockhash)


async def test_a_clock_that_was_set_back_takes_no_block_away(tmp_path: Path) -> None:
    time = StandingTime()
    async with running(tmp_path, time=time) as world:
        began = await world.client.block_height()
        time.pass_blocks(40)
        sender = await world.rich()
        assert await world.client.block_height() == began + 40
        time.now -= 10 * 400
        assert await world.client.block_height() == began + 40
    async with running(tmp_path, time=time) as world:
        assert await world.client.block_height() == began + 40
        assert await world.client.balance(str(sender.pubkey())) == 100 * SOL
        time.pass_blocks(11)
        assert await world.client.block_height() == began + 41


async def test_commitments_lag_behind(world: World) -> None:
    heights = {}
    for commitment in ("processed", "confirmed", "finalized"):
        options = {"commitment": commitment}
        height = (await world.ask("getBlockHeight", options))["result"]
        slot = (await world.ask("getSlot", options))["result"]
        found = (await world.ask("getLatestBlockhash", options))["result"]
        assert found["value"]["lastValidBlockHeight"] == height + 150
        assert found["context"]["slot"] == slot
        assert slot != height
        heights[commitment] = height
        blockhash = found["value"]["blockhash"]
        assert (await world.ask("isBlockhashValid", blockhash, options))["result"]["value"] is True
    assert heights["processed"] - heights["confirmed"] == 2
    assert heights["processed"] - heights["finalized"] == 32
    sender = await world.rich()
    sent = await world.client.send(bytes(await world.built([sender], memo("how far"))))
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
    status = await world.client.status(sent)
    assert status is not None
    assert status.level == "finalized"


async def test_what_fails_in_a_program_pays_its_fee_and_is_recorded(world: World) -> None:
    sender, receiver = await world.rich(2 * SOL), Keypair().pubkey()
    sent = await world.built([sender], transfer(sender, receiver, 3 * SOL))
    with pytest.raises(SolanaRefused, match=r"Transaction simulation failed: .*0x1") as refused:
        await world.client.send(bytes(sent))
    assert refused.value.reason == {"InstructionError": [0, {"Custom": 1}]}
    assert any("insufficient lamports" in line for line in refused.value.logs)
    assert await world.client.balance(str(sender.pubkey())) == 2 * SOL
    await world.client.ask(
        "sendTransaction", text(sent), {"encoding": "base64", "skipPreflight": True}
    )
    assert await world.client.balance(str(sender.pubkey())) == 2 * SOL - 5_000
    status = await world.client.status(str(sent.signatures[0]))
    assert status is not None
    assert status.error == {"InstructionError": [0, {"Custom": 1}]}
    world.time.pass_blocks(2)
    executed = await world.client.executed(str(sent.signatures[0]))
    assert executed is not None
    assert executed.fee == 5_000
    assert executed.moves.lamports == {str(sender.pubkey()): (2 * SOL, 2 * SOL - 5_000)}


async def test_who_cannot_pay_the_fee_leaves_no_trace(world: World) -> None:
    nobody = Keypair()
    sent = await world.built([nobody], memo("nothing"))
    options = {"encoding": "base64", "skipPreflight": True}
    assert (await world.ask("sendTransaction", text(sent), options))["result"]
    assert await world.client.status(str(sent.signatures[0])) is None
    await world.node.fund(str(nobody.pubkey()), SOL)
    assert await world.client.send(bytes(sent)) == str(sent.signatures[0])
    assert await world.client.status(str(sent.signatures[0])) is not None


async def test_signatures_are_checked(world: World) -> None:
    sender, maker = await world.rich(), await world.rich()
    whole = await world.built(
        [sender, maker],
        transfer(sender, maker.pubkey(), SOL),
        transfer(maker, sender.pubkey(), 2 * SOL),
    )
    other = await world.built(
        [sender, maker], transfer(maker, sender.pubkey(), 3), transfer(sender, sender.pubkey(), 1)
    )
    before = await world.client.balance(str(sender.pubkey()))
    for signatures in (
        [Signature.default(), whole.signatures[1]],
        [whole.signatures[0], Signature.default()],
        [whole.signatures[0], other.signatures[1]],
    ):
        half = VersionedTransaction.populate(whole.message, signatures)
        with pytest.raises(SolanaRefused) as refused:
            await world.client.send(bytes(half))
        assert refused.value.code == -32003
        options = {"encoding": "base64", "skipPreflight": True}
        await world.ask("sendTransaction", text(half), options)
        checked = await world.ask(
            "simulateTransaction", text(half), {"encoding": "base64", "sigVerify": True}
        )
        assert checked["error"]["code"] == -32003
        assert await world.client.balance(str(sender.pubkey())) == before
    half = VersionedTransaction.populate(whole.message, [Signature.default(), whole.signatures[1]])
    seen = await world.client.simulate(bytes(half), keys_of(half))
    assert seen.error is None
    assert seen.moves is not None
    assert seen.moves.lamports[str(sender.pubkey())] == (before, before + SOL - 10_000)
    assert await world.client.balance(str(sender.pubkey())) == before
    await world.client.send(bytes(whole))
    assert await world.client.balance(str(sender.pubkey())) == before + SOL - 10_000


def keys_of(transaction: VersionedTransaction) -> list[str]:
    return [str(key) for key in transaction.message.account_keys]


async def test_more_than_a_packet_is_refused(world: World) -> None:
    sender = await world.rich()
    rows = [transfer(sender, Keypair().pubkey(), SOL) for _ in range(22)]
    large = await world.built([sender], *rows)
    assert len(bytes(large)) == 1246
    answer = await world.ask("sendTransaction", text(large), {"encoding": "base64"})
    assert answer["error"]["code"] == -32602
    assert "too large" in answer["error"]["message"]
    for options in ({"encoding": "base64"}, {"encoding": "base64", "skipPreflight": True}):
        assert "error" in await world.ask("simulateTransaction", text(large), options)
    fits = await world.built([sender], *rows[:21])
    assert len(bytes(fits)) == 1197
    await world.client.send(bytes(fits))


async def test_a_durable_nonce_is_refused(world: World) -> None:
    sender, nonce = await world.rich(), Keypair()
    made = create_nonce_account(sender.pubkey(), nonce.pubkey(), sender.pubkey(), 2 * SOL)
    await world.client.send(bytes(await world.built([sender, nonce], *made)))
    advance = AdvanceNonce(nonce.pubkey(), HASHES, sender.pubkey()).build()
    sent = await world.built([sender], advance, transfer(sender, Keypair().pubkey(), SOL))
    for method in ("sendTransaction", "simulateTransaction"):
        answer = await world.ask(method, text(sent), {"encoding": "base64", "skipPreflight": True})
        assert answer["error"]["code"] == -32602
        assert "durable nonces are refused" in answer["error"]["message"]


async def test_programs_cannot_be_deployed(world: World) -> None:
    sender = await world.rich()
    for loader in LOADERS:
        sent = await world.built([sender], Instruction(loader, b"\0\0\0\0", []))
        for method in ("sendTransaction", "simulateTransaction"):
            answer = await world.ask(
                method, text(sent), {"encoding": "base64", "skipPreflight": True}
            )
            assert "no programs are deployed" in answer["error"]["message"]


async def test_tokens_of_the_catalogue_move(world: World) -> None:
    sender, receiver = await world.rich(), Keypair().pubkey()
    paid = await world.node.mint(str(sender.pubkey()), str(USDC), 7_000_000)
    assert (await world.client.status(paid)) is not None
    source, target = token_account(sender.pubkey(), USDC), token_account(receiver, USDC)
    sent = await world.built(
        [sender],
        CreateTokenAccount(sender.pubkey(), receiver, USDC).build(),
        TransferChecked(source, USDC, target, sender.pubkey(), 2_500_000, 6).build(),
        memo("order 1"),
    )
    seen = await world.client.simulate(bytes(sent), keys_of(sent))
    assert seen.error is None
    assert seen.moves is not None
    moved = {each.account: (each.owner, each.before, each.after) for each in seen.moves.tokens}
    assert moved == {
        str(source): (str(sender.pubkey()), 7_000_000, 4_500_000),
        str(target): (str(receiver), 0, 2_500_000),
    }
    signature = await world.client.send(bytes(sent))
    (held,) = await world.client.holdings(str(receiver), str(USDC))
    assert (held.account, held.units, held.decimals) == (str(target), 2_500_000, 6)
    world.time.pass_blocks(2)
    executed = await world.client.executed(signature)
    assert executed is not None
    assert executed.moves == seen.moves
    assert executed.fee == seen.fee == 5_000


async def test_the_catalogue_and_what_else_is_made_survive(tmp_path: Path) -> None:
    time = StandingTime()
    mint = Keypair()
    async with running(tmp_path, time=time) as world:
        owner = await world.rich()
        rent = await world.client.rent_exemption(82)
        space = (0).to_bytes(4, "little") + rent.to_bytes(8, "little") + (82).to_bytes(8, "little")
        system = Pubkey.default()
        create = Instruction(
            system,
            space + bytes(TOKEN),
            [AccountMeta(owner.pubkey(), True, True), AccountMeta(mint.pubkey(), True, True)],
        )
        account = token_account(owner.pubkey(), mint.pubkey())
        sent = await world.built(
            [owner, mint],
            create,
            InitializeMint(mint.pubkey(), 3, owner.pubkey()).build(),
            CreateTokenAccount(owner.pubkey(), owner.pubkey(), mint.pubkey()).build(),
            MintTo(mint.pubkey(), account, owner.pubkey(), 1_234).build(),
        )
        await world.client.send(bytes(sent))
        await world.node.mint(str(owner.pubkey()), str(USDC), 5)
    async with running(tmp_path, time=time) as world:
        (held,) = await world.client.holdings(str(owner.pubkey()), str(mint.pubkey()))
        assert (held.units, held.decimals) == (1_234, 3)
        mints = {each.address: each for each in catalogue_mints()}
        assert len(mints) > 30
        for address, first in mints.items():
            info = (await world.ask("getAccountInfo", address, {"encoding": "jsonParsed"}))[
                "result"
            ]["value"]["data"]["parsed"]
            assert info["type"] == "mint"
            assert info["info"]["decimals"] == first.decimals
            made = 5 if address == str(USDC) else 0
            assert info["info"]["supply"] == str(first.supply + made)
        # A token account that is closed is gone for good.
        close = Instruction(
            TOKEN,
            b"\x09",
            [
                AccountMeta(token_account(owner.pubkey(), USDC), False, True),
                AccountMeta(owner.pubkey(), False, True),
                AccountMeta(owner.pubkey(), True, False),
            ],
        )
        burn = Instruction(
            TOKEN,
            b"\x08" + (5).to_bytes(8, "little"),
            [
                AccountMeta(token_account(owner.pubkey(), USDC), False, True),
                AccountMeta(USDC, False, True),
                AccountMeta(owner.pubkey(), True, False),
            ],
        )
        await world.client.send(bytes(await world.built([owner], burn, close)))
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
        expected = await world.client.fee(to_bytes_versioned(sent.message))
        signature = await world.client.send(bytes(sent))
        world.time.pass_blocks(2)
        executed = await world.client.executed(signature)
        assert executed is not None
        assert executed.fee == expected, instructions
    world.time.pass_blocks(151)
    assert await world.client.fee(to_bytes_versioned(sent.message)) is None


async def test_nodes_misbehave_on_demand(world: World) -> None:
    sender, receiver = await world.rich(), Keypair().pubkey()
    sent = await world.built([sender], transfer(sender, receiver, SOL))
    world.faults.add("solana", "drop_transaction", 1)
    assert await world.client.send(bytes(sent)) == str(sent.signatures[0])
    assert await world.client.status(str(sent.signatures[0])) is None
    assert await world.client.balance(str(receiver)) == 0
    assert await world.client.send(bytes(sent)) == str(sent.signatures[0])
    assert await world.client.balance(str(receiver)) == SOL
    world.faults.add("solana", "node_down", 1)
    with pytest.raises(SolanaUncertain):
        await world.client.block_height()
    assert await world.client.block_height() > 0


async def test_another_key_or_world_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        first = await world.client.genesis_hash()
    async with running(tmp_path.parent / f"{tmp_path.name}-other", key=KEY[::-1]) as world:
        assert await world.client.genesis_hash() != first
    with pytest.raises(ChainFileMismatch, match="other tokens or keys"):
        SolanaEmbedding(tmp_path, KEY[::-1], now_ms=StandingTime(), faults=world.faults)


async def test_legacy_transactions_are_executed(world: World) -> None:
    sender, receiver = await world.rich(), Keypair().pubkey()
    blockhash = Hash.from_string((await world.client.latest_blockhash()).blockhash)
    message = Message.new_with_blockhash(
        [transfer(sender, receiver, SOL)], sender.pubkey(), blockhash
    )
    sent = VersionedTransaction(message, [sender])
    signature = await world.client.send(bytes(sent))
    assert await world.client.balance(str(receiver)) == SOL
    world.time.pass_blocks(2)
    found = await world.ask("getTransaction", signature, {"commitment": "confirmed"})
    assert found["result"]["version"] == "legacy"
    modern = await world.client.send(bytes(await world.built([sender], memo("x"))))
    world.time.pass_blocks(2)
    refused = await world.ask("getTransaction", modern, {"commitment": "confirmed"})
    assert refused["error"]["code"] == -32015


MALFORMED: list[tuple[str, Any]] = [
    ("sendTransaction", ["AAAA", {"encoding": "base64"}]),
    ("sendTransaction", ["!!", {"encoding": "base64"}]),
    ("sendTransaction", ["A" * 1645, {"encoding": "base64"}]),
    ("sendTransaction", ["1" * 1684]),
    ("sendTransaction", []),
    ("simulateTransaction", [5]),
    ("getBalance", ["x" * 10_000]),
    ("getBalance", ["0OIl"]),
    ("getBalance", ["11111111111111111111111111111112", {"commitment": "sure"}]),
    ("getBalance", {"address": 1}),
    ("getMinimumBalanceForRentExemption", [-1]),
    ("getMinimumBalanceForRentExemption", [1 << 40]),
    ("getTokenAccountsByOwner", [str(USDC), {}]),
    ("getTokenAccountsByOwner", [str(USDC), {"mint": str(HASHES)}]),
    ("getTokenAccountsByOwner", [str(USDC), {"programId": str(HASHES)}]),
    ("getTokenAccountBalance", [str(USDC)]),
    ("getSignatureStatuses", [["1" * 64] * 257]),
    ("getFeeForMessage", ["AQ=="]),
    ("isBlockhashValid", [7]),
    ("getBlockHeight", [{"minContextSlot": "1"}]),
    ("getTransaction", [str(Signature.default()), {"commitment": "processed"}]),
]


async def test_malformed_calls_are_told_so(world: World) -> None:
    for method, params in MALFORMED:
        asked = params if isinstance(params, list) else [params]
        answer = await world.ask(method, *asked)
        assert answer["error"]["code"] == -32602, (method, params, answer)


async def test_what_is_not_served_is_said(world: World) -> None:
    assert (await world.ask("getProgramAccounts"))["error"]["code"] == -32601
    late = (await world.ask("getSlot", {"commitment": "processed"}))["result"] + 1
    answer = await world.ask("getSlot", {"minContextSlot": late})
    assert answer["error"]["code"] == -32016


async def test_a_disk_that_fails_leaves_memory_as_the_disk_is(world: World) -> None:
    sender, receiver = await world.rich(), Keypair().pubkey()
    sent = await world.built([sender], transfer(sender, receiver, SOL))
    connection = sqlite3.connect(world.embedding.path, isolation_level=None)
    connection.execute(
        "CREATE TRIGGER full BEFORE INSERT ON transactions"
        " BEGIN SELECT RAISE(ABORT, 'disk full'); END"
    )
    answer = await world.ask("sendTransaction", text(sent), {"encoding": "base64"})
    assert answer["error"]["code"] == -32603
    assert await world.client.balance(str(receiver)) == 0
    connection.execute("DROP TRIGGER full")
    connection.close()
    await world.client.send(bytes(sent))
    assert await world.client.balance(str(receiver)) == SOL


async def test_a_table_of_addresses_is_refused(world: World) -> None:
    from solders.address_lookup_table_account import AddressLookupTableAccount

    sender, receiver = await world.rich(), Keypair().pubkey()
    table = AddressLookupTableAccount(Keypair().pubkey(), [receiver])
    blockhash = Hash.from_string((await world.client.latest_blockhash()).blockhash)
    message = MessageV0.try_compile(
        sender.pubkey(), [transfer(sender, receiver, SOL)], [table], blockhash
    )
    sent = VersionedTransaction(message, [sender])
    answer = await world.ask("sendTransaction", text(sent), {"encoding": "base64"})
    assert "lookup tables are not served" in answer["error"]["message"]
