"""Files of ``swapdesk serve --config`` over the chain Base of a sandbox or of a node."""

from __future__ import annotations

from pathlib import Path

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.deployments import SANDBOX_VENUES
from swapdesk.sandbox.evm_world.genesis import BASALT, address_of, pools_on, wrapped_native
from swapdesk.sandbox.world import find_token

BASE = {"ETH": find_token("base", "ETH"), "USDC": find_token("base", "USDC")}
CONTRACTS = {venue.provider: venue.address for venue in SANDBOX_VENUES}


def written(place: Path, rpc: str, chain_id: int, more: str = "") -> Path:
    pools = "\n".join(
        f'  {{ chain = "base", address = "{pool.address}", fee = {pool.fee},'
        f' token0 = "{checksummed(address_of(pool.token0))}",'
        f' token1 = "{checksummed(address_of(pool.token1))}" }},'
        for pool in pools_on("base", BASALT)
    )
    file = place / "service.toml"
    file.write_text(
        f"""data = "data"
port = 0
intermediaries = []

[chains.base]
rpc = "{rpc}"
chain_id = {chain_id}
wrapped = "{checksummed(address_of(wrapped_native("base")))}"

[venues.ba]
kind = "basalt"
name = "Basalt"
contract = "{CONTRACTS["ba"]}"
pools = [
{pools}
]
{more}"""
    )
    return file
