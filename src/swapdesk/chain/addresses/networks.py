"""Chains of one kind that differ in the mark their addresses begin with.

An account of one is an account of another too, but a payout to the wrong one arrives where
nobody looks. The chain is known by its name, as the catalogue gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

UNLISTED = (
    "The beginnings of this chain's addresses are not known here. "
    "Compare it with another address of the chain."
)
"""Said of an address on a chain that has no row here."""


@dataclass(frozen=True)
class Network:
    """``mark`` is the bech32 prefix or the SS58 number; ``names`` are further ones, folded."""

    mark: str | int
    name: str
    needs: str
    names: frozenset[str] = frozenset()


def _cosmos(prefix: str, name: str, *names: str) -> Network:
    return Network(prefix, name, f"one that starts with {prefix}1", frozenset(names))


COSMOS: Mapping[str | int, Network] = {
    network.mark: network
    for network in (
        _cosmos("cosmos", "Cosmos Hub", "cosmos", "atom", "cosmoshub"),
        _cosmos("osmo", "Osmosis"),
        _cosmos("celestia", "Celestia"),
        _cosmos("inj", "Injective"),
        _cosmos("thor", "THORChain"),
        _cosmos("maya", "Maya", "maya protocol", "mayachain"),
        _cosmos("kava", "Kava"),
        _cosmos("dydx", "dYdX", "dydx chain"),
        _cosmos("sei", "Sei"),
        _cosmos("noble", "Noble"),
        _cosmos("neutron", "Neutron"),
        _cosmos("axelar", "Axelar"),
        _cosmos("akash", "Akash"),
        _cosmos("juno", "Juno"),
        _cosmos("stars", "Stargaze"),
        _cosmos("stride", "Stride"),
        _cosmos("dym", "Dymension"),
        _cosmos("terra", "Terra", "terra classic"),
        _cosmos("secret", "Secret", "secret network"),
        _cosmos("band", "Band", "band protocol"),
        _cosmos("cro", "Crypto.org", "cronos pos", "crypto.org chain"),
        _cosmos("fetch", "Fetch.ai", "fetch", "asi"),
        _cosmos("saga", "Saga"),
        _cosmos("evmos", "Evmos"),
        _cosmos("agoric", "Agoric"),
        _cosmos("persistence", "Persistence"),
        _cosmos("archway", "Archway"),
        _cosmos("xion", "XION"),
        _cosmos("init", "Initia"),
        _cosmos("bbn", "Babylon"),
        _cosmos("zig", "ZIGChain"),
        _cosmos("mantra", "MANTRA", "mantra chain"),
    )
}

DOT: Mapping[str | int, Network] = {
    network.mark: network
    for network in (
        Network(0, "Polkadot", "one that starts with 1", frozenset({"polkadot asset hub"})),
        Network(2, "Kusama", "one that starts with a capital letter C to J"),
        Network(5, "Astar", "one of Astar's own form"),
        Network(10, "Acala", "one of Acala's own form"),
        Network(30, "Phala", "one of Phala's own form"),
        Network(36, "Centrifuge", "one that starts with 4"),
        Network(63, "Hydration", "one of Hydration's own form"),
        Network(42, "generic Substrate", "one that starts with 5", frozenset({"bittensor"})),
    )
}

_BY_KIND = {"cosmos": COSMOS, "dot": DOT}


def network_of(kind: str, chain_name: str | None) -> Network | None:
    """The network a chain's name stands for, or None when its marks are not known here."""
    if chain_name is None:
        return None
    folded = chain_name.casefold()
    for network in _BY_KIND.get(kind, {}).values():
        if network.name.casefold() == folded or folded in network.names:
            return network
    return None
