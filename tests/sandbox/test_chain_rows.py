"""The rows of the sandbox's chains against the decoders, the explorers and the clock."""

from __future__ import annotations

import pytest

from swapdesk.chain.addresses.checking import check_address, pattern_fits
from swapdesk.chain.addresses.display import transaction_link
from swapdesk.chain.addresses.kinds import derive_address, derive_transaction_hash
from swapdesk.sandbox.tables import CHAIN_ROWS, ChainIds, ChainRow, chain_terms
from swapdesk.sandbox.world import build_chains

BY_NAME = {row.short_name: row for row in CHAIN_ROWS}
SEEDS = [number.to_bytes(32, "big") for number in range(20)]
HONEST = [
    ("bitcoin", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),
    ("bitcoin", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"),
    ("litecoin", "LT2KVaAy1ppRuxRgrS5RNU3vBsy7RibPeA"),
    ("litecoin", "MHrYRxAiMNBTku3eoDHwhA1LQGDjUStZW2"),
    ("dogecoin", "DEQU7G2Chw4r1gSKZt2GfKBpGbkbQSwp3S"),
    ("dogecoin", "9tg8sLnB9okjuNSdgtAWrNPcgijs1yMwBE"),
    ("bitcoincash", "ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq"),
    ("tron", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"),
    ("stellar", "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"),
    ("cardano", "addr1vx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzers66hrl8"),
    (
        "cardano",
        "addr1qx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3n0d3vllmyqwsx5wktcd8cc3sq835lu7drv2xwl2wywfgse35a3x",
    ),
    ("cardano", "addr1gx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer5pnz75xxcrzqf96k"),
    ("cardano", "Ae2tdPwUPEZDMm8GdfnY8ibhFPd5GBjyRARL7A5DbatemFheedMwB4WTj7z"),
    ("polkadot", "1qnJN7FViy3HZaxZK9tGAA71zxHSBeUweirKqCaox4t8GT7"),
    ("kusama", "DR6pMC4GJiVbgPtNNuw1xgxJyEsYYuXKXq7ZCVBjfFrh3V5"),
    ("cosmos", "cosmos1qckcmp3uw7qa5407qy3dlw8fzzc9c67yvrf7c6"),
    ("algorand", "VQD6TBRL6BH6NAGIPEUG6JZUCPJVXB3GPTHEU5WTKX5DDGSR3AXNKBN5FQ"),
]
"""Published addresses; where each comes from stands with the vectors of its decoder."""


@pytest.mark.parametrize("row", CHAIN_ROWS, ids=lambda row: row.short_name)
def test_addresses_of_a_chain_are_good_there_and_nowhere_by_accident(row: ChainRow) -> None:
    pattern = row.address_pattern
    for seed in SEEDS:
        address = row.address(seed)
        verdict = check_address(row.kind, address, chain_name=row.name)
        assert (verdict.ok, verdict.normalized) == (True, address)
        assert pattern_fits(pattern, address)
        assert pattern_fits(pattern, address + "\n") is False
        assert pattern_fits(pattern, address[:20]) is False
        for other in CHAIN_ROWS:
            if other.kind != row.kind:
                assert not check_address(other.kind, address, chain_name=other.name).ok


@pytest.mark.parametrize(("chain", "address"), HONEST)
def test_patterns_take_what_wallets_of_the_chain_give(chain: str, address: str) -> None:
    row = BY_NAME[chain]
    assert check_address(row.kind, address, chain_name=row.name).ok
    assert pattern_fits(row.address_pattern, address)


@pytest.mark.parametrize("row", CHAIN_ROWS, ids=lambda row: row.short_name)
def test_contract_patterns_take_contracts_alone(row: ChainRow) -> None:
    pattern = row.contract_pattern
    has_tokens = row.kind in ("evm", "sol", "xrp", "xlm", "ton", "tron", "sui")
    assert pattern_fits(pattern, derive_address(row.kind, SEEDS[1])) is has_tokens
    if row.kind == "sui":
        assert pattern_fits(pattern, "0x" + "ab" * 32 + "::usdc::USDC")
    if row.kind == "algo":
        assert pattern_fits(pattern, "31566704")


@pytest.mark.parametrize("row", CHAIN_ROWS, ids=lambda row: row.short_name)
def test_explorers_are_linked_over_https_with_what_the_chain_calls_its_hashes(
    row: ChainRow,
) -> None:
    for template, link in (
        (
            f"{row.explorer}/{row.transaction_page}/{{txHash}}",
            transaction_link(
                f"{row.explorer}/{row.transaction_page}/{{txHash}}",
                derive_transaction_hash(row.kind, SEEDS[0]),
            ),
        ),
        (
            f"{row.explorer}/{row.address_page}/{{address}}",
            transaction_link(
                f"{row.explorer}/{row.address_page}/{{txHash}}", row.address(SEEDS[0])
            ),
        ),
    ):
        assert template.count("//") == 1
        assert link.startswith("https://")


def test_a_deposit_confirms_within_minutes_of_the_world() -> None:
    for row in CHAIN_ROWS:
        assert 0 < row.block_ms * row.confirmations <= 200_000, row.short_name
        assert row.confirmations >= 2
        assert row.first_height > 1_000_000 or row.kind in ("bitcoin", "bch")


@pytest.mark.parametrize("ids", ["sandbox", "real"])
def test_the_catalogue_has_the_ids_of_the_chains_that_run(ids: ChainIds) -> None:
    """What is signed for a chain is signed for the id that the service names."""
    named = {chain.short_name: chain.chain_id for chain in build_chains(ids)}
    assert {name: named[name] for name in chain_terms(ids)} == {
        name: terms.chain_id for name, terms in chain_terms(ids).items()
    }
