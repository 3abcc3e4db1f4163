"""What the faucet gives: one token that is meant, or the reason why not."""

from __future__ import annotations

from decimal import Decimal

import pytest

from swapdesk.sandbox.control import ControlRefused, gift_of
from swapdesk.sandbox.world import find_token, world_tokens

ADDRESS = "0x" + "5a" * 20
USDC = find_token("ethereum", "USDC")


def test_coins_and_tokens_of_embedded_chains() -> None:
    coins = {"chain": "base", "address": ADDRESS, "units": str(5 * 10**17)}
    assert gift_of("base", ADDRESS, None, Decimal("0.5")) == coins
    for name in ("USDC", "usdc", USDC.address, str(USDC.address).lower(), USDC.token_id):
        assert gift_of("ethereum", ADDRESS, name, Decimal("1.25")) == {
            "chain": "ethereum",
            "address": ADDRESS,
            "units": "1250000",
            "token": USDC.address,
        }


def test_tokens_of_solana_go_by_their_mint() -> None:
    holder = "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96"
    coins = {"chain": "solana", "address": holder, "units": str(2 * 10**9)}
    assert gift_of("solana", holder, None, Decimal(2)) == coins
    mint = find_token("solana", "USDC").address
    tokens = {**coins, "units": "3000000", "token": mint}
    assert gift_of("solana", holder, "USDC", Decimal(3)) == tokens


def test_a_namesake_is_given_by_its_contract_alone() -> None:
    false = next(
        token
        for token in world_tokens().values()
        if token.row.chain == "ethereum"
        and token.row.symbol == "USDC"
        and token.row.verdict == "malicious"
    )
    for name, meant in (("USDC", USDC.address), (false.address, false.address)):
        assert gift_of("ethereum", ADDRESS, name, Decimal(1))["token"] == meant


@pytest.mark.parametrize(
    ("chain", "address", "token", "amount", "field"),
    [
        ("bitcoin", ADDRESS, None, "1", "chain"),
        ("optimism", ADDRESS, None, "1", "chain"),
        ("base", ADDRESS[:-1], None, "1", "address"),
        ("base", "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96", None, "1", "address"),
        ("base", ADDRESS, "NOSUCH", "1", "token"),
        ("base", ADDRESS, str(USDC.address), "1", "token"),
        ("polygon", ADDRESS, "DAI", "1", "token"),
        ("base", ADDRESS, "USDC", "0.0000001", "amount"),
        ("base", ADDRESS, None, "0.0000000000000000001", "amount"),
    ],
)
def test_what_is_not_given_says_which_input_is_wrong(
    chain: str, address: str, token: str | None, amount: str, field: str
) -> None:
    with pytest.raises(ControlRefused) as refused:
        gift_of(chain, address, token, Decimal(amount))
    assert list(refused.value.fields) == [field]
