"""What the faucet gives: one token that is meant, or the reason why not."""

from __future__ import annotations

from decimal import Decimal

import pytest

from swapdesk.chain.rpc.ledger import LedgerMethod
from swapdesk.sandbox.control import FaucetRefusal, gift_of
from swapdesk.sandbox.world import find_token, world_tokens

ADDRESS = "0x" + "5a" * 20
USDC = find_token("ethereum", "USDC")


def test_coins_and_tokens_of_embedded_chains() -> None:
    coins = gift_of("base", ADDRESS, None, Decimal("0.5"))
    assert coins.method == LedgerMethod.EVM_FUND
    assert coins.params == {"chain": "base", "address": ADDRESS, "units": str(5 * 10**17)}
    for name in ("USDC", "usdc", USDC.address, str(USDC.address).lower(), USDC.token_id):
        gift = gift_of("ethereum", ADDRESS, name, Decimal("1.25"))
        assert gift.params == {
            "chain": "ethereum",
            "address": ADDRESS,
            "units": "1250000",
            "token": USDC.address,
        }


def test_tokens_of_solana_go_by_their_mint() -> None:
    holder = "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96"
    coins = gift_of("solana", holder, None, Decimal(2))
    assert coins.method == LedgerMethod.SOLANA_FUND
    assert coins.params == {"address": holder, "units": str(2 * 10**9)}
    gift = gift_of("solana", holder, "USDC", Decimal(3))
    assert gift.params["mint"] == find_token("solana", "USDC").address
    assert gift.params["units"] == "3000000"


def test_a_namesake_is_given_by_its_contract_alone() -> None:
    false = next(
        token
        for token in world_tokens().values()
        if token.row.chain == "ethereum"
        and token.row.symbol == "USDC"
        and token.row.verdict == "malicious"
    )
    assert gift_of("ethereum", ADDRESS, "USDC", Decimal(1)).params["token"] == USDC.address
    assert gift_of("ethereum", ADDRESS, false.address, Decimal(1)).params["token"] == false.address


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
    with pytest.raises(FaucetRefusal) as refused:
        gift_of(chain, address, token, Decimal(amount))
    assert refused.value.field == field
