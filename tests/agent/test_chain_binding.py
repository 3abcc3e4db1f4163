"""A key of the sandbox signs for the sandbox alone, and a live one never for it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from swapdesk.agent.process.chains import MAINNET_SOLANA, Chains, refuse_foreign_chain
from swapdesk.agent.process.request import AgentRefusal
from swapdesk.wallet.accounts import Account, ChainLink, KeyOrigin, Kind
from swapdesk.wallet.protocol import RefusalCode as Code

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def account(profile: str, origin: KeyOrigin = KeyOrigin.CREATED, kind: Kind = Kind.EVM) -> Account:
    return Account("0x00", kind, "", profile, origin, None, NOW)


def link(chain_id: int | None, kind: Kind = Kind.EVM) -> ChainLink:
    return ChainLink("base", kind, chain_id, "http://127.0.0.1:1/", 2)


@pytest.mark.parametrize(
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
    with pytest.raises(AgentRefusal) as refused:
        refuse_foreign_chain(of, link(chain_id), "0xaa")
    assert refused.value.code is Code.OTHER_CHAIN


def test_solana_is_told_by_its_genesis() -> None:
    place = link(None, Kind.SOLANA)
    refuse_foreign_chain(account("sandbox", kind=Kind.SOLANA), place, "of a sandbox")
    refuse_foreign_chain(account("desk", kind=Kind.SOLANA), place, MAINNET_SOLANA)
    with pytest.raises(AgentRefusal):
        refuse_foreign_chain(account("sandbox", kind=Kind.SOLANA), place, MAINNET_SOLANA)


def test_a_chain_is_asked_for_by_name_and_kind() -> None:
    chains = Chains([link(8453)])
    assert chains.link("base", Kind.EVM).chain_id == 8453
    for name, kind in (("base", Kind.SOLANA), ("polygon", Kind.EVM)):
        with pytest.raises(AgentRefusal):
            chains.link(name, kind)
