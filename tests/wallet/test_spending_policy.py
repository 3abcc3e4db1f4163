"""A spending policy through the real agent: what it stops, who may raise it, what a kill leaves."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from rows import each_row
from sandbox.evm.evm_world import World
from swapdesk.agent.keys.key_file import Scrypt
from swapdesk.agent.spending.policy_file import PolicyKeeper
from swapdesk.agent.transactions.file import RecordsFile
from swapdesk.agent.transactions.records import Records
from swapdesk.secret import Secret, SecretBytes
from swapdesk.wallet.accounts import WalletPlace
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import TypedDataPayload
from swapdesk.wallet.protocol import (
    AgentGone,
    Refused,
    WrongPassphrase,
    to_json,
)
from swapdesk.wallet.spending import (
    Limit,
    PolicyToken,
    Price,
    SpendingPolicy,
    SpendWindow,
)
from wallet.agents import CHEAP, PASSPHRASE, dying_at
from wallet.refusals import refused
from wallet.signing import CHAIN, CHAIN_ID, DEPOSIT, ROUTER, USDC, WETH, Trader, trader

pytestmark = pytest.mark.asyncio(loop_scope="module")

DOLLAR = PolicyToken(CHAIN_ID, USDC.contract, 6, "USDC", CHAIN)
COIN = PolicyToken(CHAIN_ID, None, 18, "ETH", CHAIN)
TEN = SpendingPolicy((Limit(SpendWindow.DAY, Decimal(1_000), DOLLAR),))
"""Ten permits of 100 USDC."""


@pytest_asyncio.fixture(loop_scope="module")
async def someone(world: World, tmp_path: Path) -> Trader:
    return await trader(world, tmp_path / "keys")


async def permit(
    agent: WalletClient, someone: Trader, number: int, payload: TypedDataPayload | None = None
) -> None:
    payload = payload or someone.transfer_by_permit2(number)
    await agent.sign(await agent.review(payload, someone.promise(f"permit {number}")))


async def refusal(agent: WalletClient, someone: Trader, number: int) -> Refused:
    with pytest.raises(Refused) as refused:
        await permit(agent, someone, number)
    return refused.value


async def set_policy(someone: Trader, policy: SpendingPolicy) -> None:
    async with someone.agent() as agent:
        await agent.set_policy(policy, PASSPHRASE)


async def test_the_eleventh_of_ten_payments_is_stopped(someone: Trader) -> None:
    await set_policy(someone, TEN)
    async with someone.agent() as agent:
        for number in range(9):
            await permit(agent, someone, number)
    # Killed once it is written down: nobody got the tenth, and it counts.
    dying = await WalletClient.start(someone.place, program=dying_at("RecordsFile.COMMIT"))
    await dying.unlock(PASSPHRASE)
    tenth = someone.transfer_by_permit2(9)
    with pytest.raises(AgentGone):
        await permit(dying, someone, 9, tenth)
    await dying.close()
    async with someone.agent() as agent:
        refused = await refusal(agent, someone, 10)
        assert refused.code == "gate"
        [finding] = refused.findings
        assert finding.code == "POLICY_DAY"
        assert "per day 1,000 USDC, 0 left, this is 100" in finding.words
        # The tenth itself is signed again: it was counted.
        await permit(agent, someone, 9, tenth)
        [use] = (await agent.policy()).uses
        assert (use.used, use.left) == (1_000, 0)


async def test_transactions_count_with_their_gas(someone: Trader) -> None:
    usd = SpendingPolicy(
        (Limit(SpendWindow.DAY, Decimal(5)),),
        (Price(COIN, Decimal(3_000)), Price(DOLLAR, Decimal(1))),
    )
    await set_policy(someone, usd)
    async with someone.agent() as agent:
        # 3 USD of ETH, and the gas.
        review = await agent.review(someone.payment(), someone.deposit("coins"))
        assert not review.refused, review.findings
        signed = await agent.sign(review)
        [use] = (await agent.policy()).uses
        assert 3 < (use.used or 0) < 4
        await agent.broadcast(signed.hash)  # type: ignore[union-attr]
        second = await agent.review(someone.payment(), someone.deposit("more coins"))
        assert [one.code for one in second.findings if one.code.startswith("POLICY")] == [
            "POLICY_DAY"
        ]


async def test_only_the_pass_phrase_raises(someone: Trader) -> None:
    async with someone.agent() as agent:
        for phrase, wanted in ((None, "passphrase_needed"), (Secret("x"), None)):
            with refused(wanted or "wrong_passphrase"):
                await agent.set_policy(TEN, phrase)
        assert (await agent.policy()).policy is None
        await agent.set_policy(TEN, PASSPHRASE)
        lower = replace(TEN, limits=(Limit(SpendWindow.DAY, Decimal(99), DOLLAR),), payees=())
        await agent.set_policy(lower)
        assert (await agent.policy()).policy == lower
        assert {one.code for one in (await refusal(agent, someone, 0)).findings} == {
            "POLICY_DAY",
            "POLICY_PAYEE",
        }
        dearer, wider = replace(lower, limits=TEN.limits), replace(lower, payees=(DEPOSIT,))
        for raised in (TEN, SpendingPolicy(), dearer, wider):
            with refused("passphrase_needed"):
                await agent.set_policy(raised)
        with pytest.raises(WrongPassphrase):
            await agent.set_policy(TEN, Secret("a wrong one"))
        assert (await agent.policy()).policy == lower
    async with someone.agent() as agent:
        assert (await agent.policy()).policy == lower
        await agent.set_policy(SpendingPolicy(), PASSPHRASE)
        await permit(agent, someone, 0)


def edited(content: bytes, how: str) -> bytes | None:
    if how == "gone":
        return None
    told = json.loads(content)
    if how == "sealed":
        told["sealed"] = told["sealed"].replace("1000", "9000")
    elif how == "lowered":
        told["lowered"] = None
    elif how == "raised":
        told["lowered"] = to_json(SpendingPolicy())
    else:
        return b"{" + how.encode()
    return json.dumps(told).encode()


EDITS = ("gone", "sealed", "lowered", "raised", "nonsense")


@each_row("how", EDITS)
async def test_a_file_that_was_edited_stops_everything(someone: Trader, how: str) -> None:
    number = EDITS.index(how)
    async with someone.agent() as agent:
        await agent.set_policy(TEN, PASSPHRASE)
        await agent.set_policy(replace(TEN, payees=(ROUTER["fa"],)))
    path = Path(someone.place.directory) / "spending_policy.json"
    content = edited(path.read_bytes(), how)
    path.unlink() if content is None else path.write_bytes(content)
    async with someone.agent() as agent:
        assert "nothing is signed" in str((await agent.policy()).problem)
        told = (await refusal(agent, someone, number)).findings
        assert [one.code for one in told] == ["POLICY_CHANGED"]
        with refused("passphrase_needed"):
            await agent.set_policy(replace(TEN, payees=()))
        await agent.set_policy(TEN, PASSPHRASE)
        await permit(agent, someone, number)


async def test_a_seal_of_somebody_else_stops_everything(someone: Trader, tmp_path: Path) -> None:
    """Also where the records were made to expect it: the pass phrase does not open it."""
    other = WalletPlace(str(tmp_path / "other"), "sandbox")
    async with someone.agent() as agent:
        await agent.set_policy(TEN, PASSPHRASE)
    agent = await WalletClient.start(other, program=CHEAP)
    phrase = Secret("of somebody else")
    await agent.create("evm", "", phrase)  # type: ignore[arg-type]
    await agent.set_policy(SpendingPolicy(), phrase)
    await agent.close()
    mine = Path(someone.place.directory)
    theirs = (tmp_path / "other" / "spending_policy.json").read_bytes()
    (mine / "spending_policy.json").write_bytes(theirs)
    import hashlib
    import sqlite3

    with sqlite3.connect(mine / "transactions.db") as records:
        records.execute("INSERT INTO policy VALUES(?)", (hashlib.sha256(theirs).digest(),))
    records.close()
    async with someone.agent() as agent:
        review = await agent.review(someone.transfer_by_permit2(0), someone.promise("permit"))
        with pytest.raises(Refused) as refused:
            await agent.sign(review)
        assert refused.value.findings[0].code == "POLICY_CHANGED"


async def test_a_policy_counts_as_the_contract_does(someone: Trader) -> None:
    """By 24 decimals a limit of one dollar is a limit of a billion of them."""
    none = replace(DOLLAR, contract="0x00000000000000000000000000000000000000aa", symbol="NONE")
    weth = replace(DOLLAR, contract=WETH.contract, decimals=18, symbol="WETH")
    elsewhere = replace(weth, chain_id=CHAIN_ID + 1)
    cases = (
        (replace(DOLLAR, decimals=24), "token_decimals", "by 24 decimals; it has 6"),
        (replace(weth, decimals=8), "token_decimals", "by 8 decimals; it has 18"),
        (replace(COIN, decimals=6), "token_decimals", "by 6 decimals; it has 18"),
        (replace(COIN, chain_id=None), "token_decimals", "by 18 decimals; it has 9"),
        (none, "token_decimals", "does not say how many"),
        (elsewhere, "other_chain", "no node"),
    )
    async with someone.agent() as agent:
        for token, code, words in cases:
            limit, price = Limit(SpendWindow.DAY, Decimal(1), token), Price(token, Decimal(1))
            for policy in (SpendingPolicy((limit,)), SpendingPolicy(prices=(price,))):
                with refused(code, match=words):
                    await agent.set_policy(policy, PASSPHRASE)
        assert (await agent.policy()).policy is None
        await agent.set_policy(TEN, PASSPHRASE)
        for token, code, words in cases[1:]:
            lower = replace(TEN, limits=(*TEN.limits, Limit(SpendWindow.HOUR, Decimal(1), token)))
            with refused(code, match=words):
                await agent.set_policy(lower)
        await agent.set_policy(
            replace(TEN, limits=(*TEN.limits, Limit(SpendWindow.HOUR, Decimal(1), weth)))
        )


async def test_a_policy_of_an_earlier_release_lets_nothing_be_miscounted(
    someone: Trader,
) -> None:
    """It was sealed by decimals of a list."""
    async with someone.agent() as agent:
        await agent.set_policy(TEN, PASSPHRASE)
    path = Path(someone.place.directory) / "spending_policy.json"
    keeper = PolicyKeeper(
        path.parent, "sandbox", lambda: Records(RecordsFile(path.parent, writable=True)).spent
    )
    scrypt = Scrypt.fresh(2**12)
    lied = (Limit(SpendWindow.DAY, Decimal(1), replace(DOLLAR, decimals=24)),)
    key = scrypt.derive(SecretBytes(PASSPHRASE.reveal().encode()))
    keeper.write_sealed(SpendingPolicy(lied), key, scrypt)
    async with someone.agent() as agent:
        [finding] = (await refusal(agent, someone, 0)).findings
        assert finding.code == "POLICY_DECIMALS"
        assert "by 24 decimals; it has 6" in finding.words


HOSTILE: list[Any] = [
    None,
    [],
    {"limits": None},
    {"more": 1},
    {"limits": [{"window": "year", "most": "1"}]},
    *({"limits": [{"window": "day", "most": most}]} for most in (
        "NaN", "Infinity", "-1", "-0", "1e999999", "1e-400", "1e61", "", "1_0", "١", None, True,
    )),
    {"limits": [{"window": "day", "most": "1"}, {"window": "day", "most": "2"}]},
    {"until": "2026-13-01T00:00:00Z"},
    {"until": "2026-12-01T00:00:00"},
    {"payees": ["0x1"]},
    {"payees": ["0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d358"]},
    {"payees": [DEPOSIT] * 201},
    {"chains": [{"chain_id": 0, "name": "x"}]},
    {"chains": [{"chain_id": 1, "name": "\x1b[2J"}]},
    {"chains": [{"chain_id": 1 << 300, "name": "x"}]},
    {"tokens": [to_json(replace(DOLLAR, decimals=256))]},
    {"tokens": [to_json(replace(DOLLAR, chain_id=None))]},
    {"tokens": [to_json(replace(DOLLAR, contract="So11111111111111111111111111111111111111112"))]},
    {"tokens": [to_json(DOLLAR), to_json(replace(DOLLAR, decimals=18))]},
    {"prices": [{"token": to_json(DOLLAR), "usd": "-1"}]},
]  # fmt: skip


async def test_hostile_policies_are_refused_and_change_nothing(someone: Trader) -> None:
    async with someone.agent() as agent:
        await agent.set_policy(TEN, PASSPHRASE)
        directory = Path(someone.place.directory)
        before = (directory / "spending_policy.json").read_bytes()
        for policy in HOSTILE:
            with refused("bad_request"):
                await agent.ask("set_policy", policy=policy, passphrase=PASSPHRASE)
        assert (directory / "spending_policy.json").read_bytes() == before
        assert os.stat(directory / "spending_policy.json").st_mode & 0o777 == 0o600
