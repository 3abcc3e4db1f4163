"""Our answers as the field's own client library reads them."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.rpc import responses
from solders.transaction import VersionedTransaction
from solders.transaction_status import TransactionConfirmationStatus

from sandbox.solana.solana_world import SOL, USDC, World, memo, running, transfer
from swapdesk.chain.solana import (
    TOKEN,
    CreateTokenAccount,
    TransferChecked,
    token_account,
)


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with running(tmp_path) as made:
        yield made


async def read(world: World, kind: Any, method: str, *params: Any) -> Any:
    """The answer as the library reads it; an answer of another shape is its error."""
    found = kind.from_json(json.dumps(await world.ask(method, *params)))
    assert type(found).__name__ == kind.__name__, found
    return found


def text(transaction: VersionedTransaction) -> str:
    return base64.b64encode(bytes(transaction)).decode()


async def test_the_chain(world: World) -> None:
    assert (await read(world, responses.GetHealthResp, "getHealth")).value == "ok"
    version = (await read(world, responses.GetVersionResp, "getVersion")).value
    assert version.solana_core == "3.0.0+swapdesk"
    genesis = (await read(world, responses.GetGenesisHashResp, "getGenesisHash")).value
    assert str(genesis) == await world.client.genesis_hash()
    latest = (await read(world, responses.GetLatestBlockhashResp, "getLatestBlockhash")).value
    height = (await read(world, responses.GetBlockHeightResp, "getBlockHeight")).value
    assert latest.last_valid_block_height == height + 150
    slot = await read(world, responses.GetSlotResp, "getSlot")
    assert slot.value > height
    valid = await read(
        world, responses.IsBlockhashValidResp, "isBlockhashValid", str(latest.blockhash)
    )
    assert valid.value is True
    rent = await read(
        world,
        responses.GetMinimumBalanceForRentExemptionResp,
        "getMinimumBalanceForRentExemption",
        0,
    )
    assert rent.value == 890_880


async def test_accounts_and_tokens(world: World) -> None:
    owner = await world.rich(3 * SOL)
    await world.node.mint(str(owner.pubkey()), str(USDC), 1_500_000)
    held = token_account(owner.pubkey(), USDC)
    balance = await read(world, responses.GetBalanceResp, "getBalance", str(owner.pubkey()))
    assert balance.value == 3 * SOL
    nothing = await read(
        world, responses.GetAccountInfoResp, "getAccountInfo", str(Keypair().pubkey())
    )
    assert nothing.value is None
    raw = await read(
        world,
        responses.GetAccountInfoResp,
        "getAccountInfo",
        str(held),
        {"encoding": "base64"},
    )
    assert raw.value.owner == TOKEN
    assert len(raw.value.data) == 165
    parsed = await read(
        world,
        responses.GetAccountInfoJsonParsedResp,
        "getAccountInfo",
        str(held),
        {"encoding": "jsonParsed"},
    )
    assert parsed.value.data.program == "spl-token"
    info = parsed.value.data.parsed["info"]
    assert info["tokenAmount"]["uiAmountString"] == "1.5"
    amount = await read(
        world, responses.GetTokenAccountBalanceResp, "getTokenAccountBalance", str(held)
    )
    assert (amount.value.amount, amount.value.decimals) == ("1500000", 6)
    for filters in ({"mint": str(USDC)}, {"programId": str(TOKEN)}):
        found = await read(
            world,
            responses.GetTokenAccountsByOwnerResp,
            "getTokenAccountsByOwner",
            str(owner.pubkey()),
            filters,
            {"encoding": "base64"},
        )
        assert [each.pubkey for each in found.value] == [held]
        shown = await read(
            world,
            responses.GetTokenAccountsByOwnerJsonParsedResp,
            "getTokenAccountsByOwner",
            str(owner.pubkey()),
            filters,
            {"encoding": "jsonParsed"},
        )
        assert [each.pubkey for each in shown.value] == [held]


async def test_transactions(world: World) -> None:
    owner, receiver = await world.rich(3 * SOL), Keypair().pubkey()
    await world.node.mint(str(owner.pubkey()), str(USDC), 1_500_000)
    source, target = token_account(owner.pubkey(), USDC), token_account(receiver, USDC)
    sent = await world.built(
        [owner],
        CreateTokenAccount(owner.pubkey(), receiver, USDC).build(),
        TransferChecked(source, USDC, target, owner.pubkey(), 500_000, 6).build(),
        memo("order"),
    )
    options = {"encoding": "base64"}
    simulated = await read(
        world,
        responses.SimulateTransactionResp,
        "simulateTransaction",
        text(sent),
        {
            **options,
            "innerInstructions": True,
            "replaceRecentBlockhash": True,
            "accounts": {"encoding": "base64", "addresses": [str(target)]},
        },
    )
    value = simulated.value
    assert value.err is None
    assert value.units_consumed > 5_000
    assert [len(account.data) for account in value.accounts] == [165]
    assert value.replacement_blockhash.blockhash is not None
    assert value.inner_instructions
    (moved,) = [each for each in value.post_token_balances if each.owner == receiver]
    assert moved.ui_token_amount.amount == "500000"
    signature = await read(
        world, responses.SendTransactionResp, "sendTransaction", text(sent), options
    )
    assert signature.value == sent.signatures[0]
    world.time.pass_blocks(40)
    statuses = await read(
        world, responses.GetSignatureStatusesResp, "getSignatureStatuses", [str(signature.value)]
    )
    (status,) = statuses.value
    assert status.confirmation_status == TransactionConfirmationStatus.Finalized
    assert status.confirmations is None
    assert status.err is None
    for encoding in ("base64", "json"):
        found = await read(
            world,
            responses.GetTransactionResp,
            "getTransaction",
            str(signature.value),
            {"encoding": encoding, "maxSupportedTransactionVersion": 0},
        )
        meta = found.value.transaction.meta
        assert meta.err is None
        assert meta.fee == 5_000
        assert found.value.slot == status.slot
        assert {each.owner for each in meta.post_token_balances} == {owner.pubkey(), receiver}
    asked = [str(receiver), {"limit": 5}]
    history = await read(
        world, responses.GetSignaturesForAddressResp, "getSignaturesForAddress", *asked
    )
    (named,) = history.value
    assert (named.signature, named.slot, named.err) == (signature.value, status.slot, None)
    assert (named.memo, named.block_time) == ("[5] order", found.value.block_time)
    assert named.confirmation_status == TransactionConfirmationStatus.Finalized
    missing = await read(
        world, responses.GetTransactionResp, "getTransaction", str(Keypair().sign_message(b"x"))
    )
    assert missing.value is None


async def test_failures(world: World) -> None:
    owner = await world.rich(3 * SOL)
    options = {"encoding": "base64"}
    failing = await world.built([owner], transfer(owner, Pubkey.default(), 9 * SOL))
    simulated = await read(
        world, responses.SimulateTransactionResp, "simulateTransaction", text(failing), options
    )
    assert simulated.value.err.index == 0
    assert simulated.value.err.err.code == 1
    refused = responses.SendTransactionResp.from_json(
        json.dumps(await world.ask("sendTransaction", text(failing), options))
    )
    assert type(refused).__name__ == "SendTransactionPreflightFailureMessage"
    assert refused.data.err.err.code == 1
    skipped = {**options, "skipPreflight": True}
    await read(world, responses.SendTransactionResp, "sendTransaction", text(failing), skipped)
    statuses = await read(
        world,
        responses.GetSignatureStatusesResp,
        "getSignatureStatuses",
        [str(failing.signatures[0])],
    )
    assert statuses.value[0].err.err.code == 1
    for problem in (
        await world.ask("getBalance", "nothing"),
        await world.ask("getNothing"),
    ):
        found = responses.GetBalanceResp.from_json(json.dumps(problem))
        assert type(found).__name__ in ("InvalidParamsMessage", "MethodNotFoundMessage")
