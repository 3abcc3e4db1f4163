"""What a wallet is asked about on a chain, by the list of tokens alone."""

from __future__ import annotations

from swapdesk.client.api import PartnerApi
from swapdesk.clock import ManualClock
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.wallet.chain_holdings import MOST_TOKENS, ChainTokens
from world import sandbox_goods


async def test_the_coin_of_a_chain_comes_first_and_no_contract_twice(catalog: Catalog) -> None:
    tokens = ChainTokens(catalog)
    coin, *others = await tokens.assets("base")
    assert (coin.symbol, coin.contract) == ("ETH", None)
    contracts = [one.contract for one in others]
    assert None not in contracts
    assert len(set(contracts)) == len(contracts)
    assert await tokens.assets("BASE") == [coin, *others]


async def test_what_nobody_verified_is_not_asked_after(
    own_catalog: Catalog, api: PartnerApi, clock: ManualClock
) -> None:
    tokens = sandbox_goods(clock.now())["tokens"]
    strange = next(one for one in tokens if one.unverified and one.address is not None)
    assert strange.address is not None
    (row,) = await own_catalog.fetch_by_address(api, strange.address)
    assert row.unverified
    chain = strange.chain_data.short_name
    known = {one.contract for one in await ChainTokens(own_catalog).assets(chain)}
    assert len(known) > 1
    assert strange.address not in known


async def test_of_a_long_list_so_many(catalog: Catalog) -> None:
    for chain in catalog.chains():
        assert len(await ChainTokens(catalog).assets(chain.short_name)) <= MOST_TOKENS


async def test_tokens_are_called_by_their_symbols_and_coins_are_not(catalog: Catalog) -> None:
    tokens = ChainTokens(catalog)
    (usdc,) = await tokens.called("base", ["USDC", "ETH", "NOPE"])
    assert (usdc.symbol, usdc.decimals) == ("USDC", 6)
    assert dict(await tokens.priced("base"))[usdc] is not None
    assert await tokens.called("atlantis", ["USDC"]) == []


async def test_a_chain_is_called_as_the_list_calls_it(catalog: Catalog) -> None:
    assert ChainTokens(catalog).chain_name("ethereum") == "Ethereum"
    assert ChainTokens(catalog).chain_name("atlantis") == "atlantis"
    assert ChainTokens(None).chain_name("ethereum") == "ethereum"
    assert await ChainTokens(None).priced("ethereum") == []
