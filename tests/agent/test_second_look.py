"""What stands between a review and its signature: a second look, which refuses whatever differs;
the chain, which is a sandbox's for keys of the sandbox alone; and a rest, after which keys are
dropped."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from agent.gate_world import NOW
from rows import each_row
from swapdesk.agent.gate.case import Facts
from swapdesk.agent.process.chains import MAINNET_SOLANA, Chains, refuse_foreign_chain
from swapdesk.agent.process.payload_assessment import Looked
from swapdesk.agent.process.signing import require_agreement
from swapdesk.agent.process.wallet_session import IdleLock
from swapdesk.clock import ManualClock
from swapdesk.wallet.accounts import Account, ChainLink, KeyOrigin, Kind
from swapdesk.wallet.answers import EvmTerms, Review, RuleFinding, Severity
from swapdesk.wallet.protocol import RefusalCode, Refused
from wallet.refusals import refused

WARNING = RuleFinding("RECIPIENT_HAS_CODE", Severity.WARN, "There is code.", "Paid to")
PLAN = EvmTerms(1, 7, 21_000, 100, 1)
VERDICT = Review("", "A payment", "0x00", "base", "0xaa", (), (WARNING,), None, NOW, "phrase")
SEEN = Looked(None, Facts(NOW, base_fee=90), VERDICT, PLAN)


def test_the_same_is_signed() -> None:
    require_agreement(SEEN, SEEN)
    require_agreement(SEEN, replace(SEEN, facts=replace(SEEN.facts, base_fee=100)))
    require_agreement(SEEN, replace(SEEN, verdict=replace(VERDICT, findings=())))


@each_row(
    ("changed", "code"),
    [
        ({"findings": (replace(WARNING, severity=Severity.REFUSE),)}, "gate"),
        ({"findings": (WARNING, replace(WARNING, field="Token"))}, "stale_review"),
        ({"digest": "0xbb"}, "stale_review"),
        ({"digest": ""}, "stale_review"),
        ({"phrase": None}, "stale_review"),
        ({"plan": replace(PLAN, nonce=8)}, "stale_review"),
        ({"plan": None}, "stale_review"),
        ({"facts": replace(SEEN.facts, base_fee=101)}, "stale_review"),
    ],
)
def test_whatever_differs_is_not(changed: dict[str, Any], code: RefusalCode) -> None:
    of_look = {name: value for name, value in changed.items() if name in ("plan", "facts")}
    verdict = VERDICT if of_look else replace(VERDICT, **changed)
    with refused(code):
        require_agreement(SEEN, replace(SEEN, verdict=verdict, **of_look))


def account(profile: str, origin: KeyOrigin = KeyOrigin.CREATED, kind: Kind = Kind.EVM) -> Account:
    return Account("0x00", kind, "", profile, origin, None, NOW)


def link(chain_id: int | None, kind: Kind = Kind.EVM) -> ChainLink:
    return ChainLink("base", kind, chain_id, "http://127.0.0.1:1/", 2)


@each_row(
    ("of", "chain_id", "allowed"),
    [
        (account("sandbox"), 1_337_008_453, True),
        (account("sandbox", KeyOrigin.MNEMONIC), 1_337_008_453, True),
        # A sandbox that stands in for real chains, and keys that hold nothing on them.
        (account("sandbox"), 8453, True),
        (account("sandbox", KeyOrigin.MNEMONIC), 8453, False),
        (account("sandbox", KeyOrigin.RAW), 8453, False),
        (account("sandbox", KeyOrigin.KEYSTORE), 1, False),
        (account("desk"), 8453, True),
        (account("desk", KeyOrigin.MNEMONIC), 8453, True),
        (account("desk"), 1_337_008_453, False),
    ],
)
def test_evm_ids(of: Account, chain_id: int, allowed: bool) -> None:
    if allowed:
        refuse_foreign_chain(of, link(chain_id), "0xaa")
        return
    with refused("other_chain"):
        refuse_foreign_chain(of, link(chain_id), "0xaa")


def test_solana_is_told_by_its_genesis() -> None:
    place = link(None, Kind.SOLANA)
    refuse_foreign_chain(account("sandbox", kind=Kind.SOLANA), place, "of a sandbox")
    refuse_foreign_chain(account("desk", kind=Kind.SOLANA), place, MAINNET_SOLANA)
    with pytest.raises(Refused):
        refuse_foreign_chain(account("sandbox", kind=Kind.SOLANA), place, MAINNET_SOLANA)


def test_a_chain_is_asked_for_by_name_and_kind() -> None:
    chains = Chains([link(8453)])
    assert chains.link("base", Kind.EVM).chain_id == 8453
    for name, kind in (("base", Kind.SOLANA), ("polygon", Kind.EVM)):
        with pytest.raises(Refused):
            chains.link(name, kind)


async def test_keys_are_dropped_once_nothing_was_asked_for_so_long() -> None:
    clock, dropped = ManualClock(), asyncio.Event()
    idle = IdleLock(clock, 900.0, dropped.set)
    idle.start()
    await asyncio.sleep(0)
    clock.advance(899.0)
    idle.used()
    for _ in range(5):
        await asyncio.sleep(0)
    clock.advance(899.0)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not dropped.is_set()
    clock.advance(1.0)
    await dropped.wait()
    dropped.clear()
    idle.start()
    await asyncio.sleep(0)
    clock.advance(900.0)
    await dropped.wait()
