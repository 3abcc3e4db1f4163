"""Block 0 of the embedded chains: whose tokens, which pools, and that everything adds up."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

import pytest

from swapdesk.chain.deployments import MULTICALL3, PERMIT2, SANDBOX_VENUES
from swapdesk.sandbox.contracts.artefact import artefact, entry
from swapdesk.sandbox.evm_world.genesis import (
    ARBITRAGE,
    BASALT,
    COINS,
    FATHOM,
    KEEPER,
    RELAYER,
    SOLVER,
    TREASURY,
    WRAPPED_NATIVE,
    TokenContractKind,
    address_of,
    contract_of,
    funded_tokens,
    octets,
    parties_of,
    pools_of,
    pools_on,
    world_contracts,
)
from swapdesk.sandbox.evm_world.keeper import deviation, market_ratio
from swapdesk.sandbox.node.evm.genesis import Allocation, sandbox_key
from swapdesk.sandbox.node.ledger import reserves_of
from swapdesk.sandbox.tables import ASSETS, EVM_CHAINS, quoted_by_maker
from swapdesk.sandbox.world import build_chains, build_tokens, find_token, world_tokens

KEY = b"a key of a sandbox that is tried"
PARTIES = parties_of(KEY)
BASE_PRICES = {code: asset.price for code, asset in ASSETS.items()}


@lru_cache
def contracts(chain: str) -> dict[bytes, Allocation]:
    return world_contracts(chain, KEY)


def wallet_address(wallet: str) -> str:
    return "0x" + sandbox_key(KEY, wallet).address.hex()


def word(chain: str, address: str, name: str, variable: str, *keys: int | str) -> int:
    slot = entry(artefact(name).slots[variable], *keys)
    return contracts(chain)[octets(address)].storage.get(slot, 0)


@pytest.mark.parametrize("chain", EVM_CHAINS)
def test_every_enabled_token_of_the_table_has_its_contract(chain: str) -> None:
    tokens = funded_tokens(chain)
    assert len({address_of(token) for token in tokens}) == len(tokens) >= 20
    for token in tokens:
        kind = contract_of(token).kind
        held = contracts(chain)[octets(address_of(token))]
        assert held.code == artefact(kind).code
        assert word(chain, address_of(token), kind, "ledger.decimals") == token.row.decimals
    disabled = [
        token
        for token in world_tokens().values()
        if token.row.chain == chain and not token.row.enabled and token.address is not None
    ]
    assert all(octets(address_of(token)) not in contracts(chain) for token in disabled)


@pytest.mark.parametrize("chain", EVM_CHAINS)
def test_what_is_held_of_a_token_is_what_there_is(chain: str) -> None:
    holders = [pool.address for pool in pools_of(chain)]
    holders += [PARTIES[TREASURY], PARTIES[SOLVER], PARTIES[RELAYER], ARBITRAGE]
    for token in funded_tokens(chain):
        address, kind = address_of(token), contract_of(token).kind
        reserves = {wallet_address(wallet): units for wallet, units in reserves_of(token)}
        for wallet, units in reserves.items():
            assert word(chain, address, kind, "ledger.balanceOf", wallet) == units > 0
        held = sum(reserves.values()) + sum(
            word(chain, address, kind, "ledger.balanceOf", each) for each in holders
        )
        coins = contracts(chain)[octets(address)].balance
        supply = word(chain, address, kind, "ledger.totalSupply")
        assert held == (coins if kind == TokenContractKind.WRAPPED else supply) > 0
        assert word(chain, address, kind, "ledger.balanceOf", PARTIES[TREASURY]) > 0


@pytest.mark.parametrize("chain", EVM_CHAINS)
def test_pools_stand_at_the_market_and_hold_their_reserves(chain: str) -> None:
    for pool in pools_of(chain):
        reserve0, reserve1 = (
            word(chain, pool.address, "Pool", name) for name in ("reserve0", "reserve1")
        )
        assert (reserve0, reserve1) == pool.reserves
        assert deviation(reserve0, reserve1, market_ratio(pool, BASE_PRICES)) < Fraction(1, 5_000)
        assert int(pool.token0.address or "", 16) < int(pool.token1.address or "", 16)
        for token, reserve in zip(pool.tokens, pool.reserves, strict=True):
            kind = contract_of(token).kind
            held = word(chain, address_of(token), kind, "ledger.balanceOf", pool.address)
            assert held == reserve > 0


@pytest.mark.parametrize("chain", EVM_CHAINS)
def test_routers_know_the_pools_of_their_venue_and_no_others(chain: str) -> None:
    for venue, name in ((BASALT, "Router"), (FATHOM, "PermitRouter")):
        router = next(each.address for each in SANDBOX_VENUES if each.provider == venue)
        pools = pools_on(chain, venue)
        if not pools:
            assert venue == FATHOM
            assert octets(router) not in contracts(chain)
            continue
        for pool in pools:
            a, b = map(address_of, pool.tokens)
            for pair in ((a, b), (b, a)):
                found = word(chain, router, name, "routing.poolOf", *pair)
                assert found == int(pool.address, 16)
        storage = contracts(chain)[octets(router)].storage
        assert len(storage) == 1 + 2 * len(pools)
        coin = find_token(chain, WRAPPED_NATIVE[chain])
        assert word(chain, router, name, "routing.WETH") == int(address_of(coin), 16)


def test_solver_and_relayer_may_pay_what_they_hold() -> None:
    settlement, portal = (
        next(each.address for each in SANDBOX_VENUES if each.provider == code)
        for code in ("is", "me")
    )
    for chain in EVM_CHAINS:
        assert word(chain, settlement, "Settlement", "solver") == int(PARTIES[SOLVER], 16)
        assert word(chain, portal, "Portal", "relayer") == int(PARTIES[RELAYER], 16)
        assert word(chain, ARBITRAGE, "Arbitrage", "owner") == int(PARTIES[KEEPER], 16)
        for token in {token for pool in pools_of(chain) for token in pool.tokens}:
            address, kind = address_of(token), contract_of(token).kind
            for holder, spender in ((PARTIES[SOLVER], settlement), (PARTIES[RELAYER], portal)):
                assert word(chain, address, kind, "ledger.balanceOf", holder) > 0
                allowed = word(chain, address, kind, "ledger.allowance", holder, spender)
                assert allowed == (1 << 256) - 1
        for address in (PERMIT2, MULTICALL3):
            assert contracts(chain)[octets(address)].code
        for address in (PARTIES[TREASURY], PARTIES[SOLVER], PARTIES[RELAYER]):
            assert contracts(chain)[octets(address)].balance > 0


def test_a_namesake_of_a_known_token_has_a_plain_contract() -> None:
    assert contract_of(find_token("base", "USDC")).kind == TokenContractKind.DOLLAR
    false = [
        token
        for token in world_tokens().values()
        if token.row.verdict == "malicious" and token.address and token.row.chain in EVM_CHAINS
    ]
    assert len(false) > 5
    assert {contract_of(token).kind for token in false} == {TokenContractKind.TOKEN}


def test_the_catalogue_says_dex_exactly_of_what_is_traded_on_a_chain() -> None:
    now = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)
    pooled = {
        token.token_id for name in EVM_CHAINS for pool in pools_of(name) for token in pool.tokens
    }
    coins = {token.token_id for token in map(coin_of, EVM_CHAINS)}
    made = {token.token_id for token in world_tokens().values() if quoted_by_maker(token.row)}
    said = {token.id for token in build_tokens(build_chains(), now) if token.has_dex}
    assert said == pooled | coins | made
    assert len(said) > 80


def coin_of(chain: str) -> Any:
    return next(
        token for token in world_tokens().values() if token.row.chain == chain and token.row.native
    )


@pytest.mark.parametrize("chain", EVM_CHAINS)
def test_exchanges_hold_in_coins_what_their_books_say_and_gas_beside_it(chain: str) -> None:
    coin = coin_of(chain)
    for wallet, units in reserves_of(coin):
        found = contracts(chain)[octets(wallet_address(wallet))]
        assert found.balance == units + COINS > COINS
    tokens = {wallet for token in funded_tokens(chain) for wallet, _ in reserves_of(token)}
    assert all(contracts(chain)[octets(wallet_address(one))].balance >= COINS for one in tokens)
