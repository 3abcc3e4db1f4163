"""The storage that genesis writes for each kind of contract, as a constructor would."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from swapdesk.sandbox.contracts.artefact import artefact
from swapdesk.sandbox.contracts.slots import Storage, entry, number, text
from swapdesk.sandbox.evm_world.kinds import Kind, TokenContract


@dataclass
class Accounts:
    """The accounts of one token: units by holder, and what holders allow to spenders."""

    units: dict[str, int] = field(default_factory=dict)
    allowed: dict[tuple[str, str], int] = field(default_factory=dict)

    def give(self, holder: str, units: int) -> None:
        self.units[holder] = self.units.get(holder, 0) + units

    @property
    def held(self) -> int:
        return sum(self.units.values())


def token_storage(
    contract: TokenContract, symbol: str, decimals: int, supply: int, accounts: Accounts
) -> Storage:
    """A token of any kind. The supply of a wrapped coin is the coin it holds, not a word."""
    variables = artefact(contract.kind).variables
    storage: Storage = {
        **text(variables["ledger.name"].slot, contract.name),
        **text(variables["ledger.symbol"].slot, symbol),
        variables["ledger.decimals"].slot: decimals,
    }
    if contract.kind != Kind.WRAPPED:
        storage[variables["ledger.totalSupply"].slot] = supply
    if contract.kind.takes_permits:
        storage.update(text(variables["permits.version"].slot, contract.version))
    balances, allowances = variables["ledger.balanceOf"].slot, variables["ledger.allowance"].slot
    storage.update((entry(balances, holder), units) for holder, units in accounts.units.items())
    storage.update(
        (entry(allowances, owner, spender), units)
        for (owner, spender), units in accounts.allowed.items()
    )
    return {slot: word for slot, word in storage.items() if word}


def pool_storage(token0: str, token1: str, reserve0: int, reserve1: int, fee: int) -> Storage:
    """``fee`` is in parts of 10,000."""
    variables = artefact("Pool").variables
    return {
        variables["token0"].slot: number(token0),
        variables["token1"].slot: number(token1),
        variables["reserve0"].slot: reserve0,
        variables["reserve1"].slot: reserve1,
        variables["fee"].slot: fee,
    }


def router_storage(
    name: str, wrapped_native: str, pools: Iterable[tuple[str, str, str]]
) -> Storage:
    """Of ``Router`` or ``PermitRouter``; ``pools`` are (token, token, pool)."""
    variables = artefact(name).variables
    storage: Storage = {variables["routing.WETH"].slot: number(wrapped_native)}
    slot = variables["routing.poolOf"].slot
    for a, b, pool in pools:
        storage[entry(slot, a, b)] = storage[entry(slot, b, a)] = number(pool)
    return storage


def addresses_storage(name: str, addresses: Mapping[str, str]) -> Storage:
    """A contract whose only words at first are addresses, by variable."""
    variables = artefact(name).variables
    return {variables[each].slot: number(address) for each, address in addresses.items()}
