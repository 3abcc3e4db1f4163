"""Account addresses of Cosmos chains: bech32 with a prefix for each chain. The same account exists
on other Cosmos chains, but a payout to the wrong chain arrives where nobody looks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from swapdesk.chain.addresses import bech32
from swapdesk.chain.addresses.kind import (
    UNLISTED,
    AddressKind,
    AddressProblem,
    LinkForm,
    MemoRule,
    Network,
    ParsedAddress,
    expand,
    in_capitals,
    refuse_burned,
    require_length,
    wrong_start,
)


def _cosmos(prefix: str, name: str, *names: str) -> Network:
    data = bech32.CLASS
    return Network(
        prefix,
        name,
        f"one that starts with {prefix}1",
        frozenset(names),
        rf"^{prefix}1([{data}]{{38}}|[{data}]{{58}})$",
    )


NETWORKS: Mapping[str | int, Network] = {
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

_ROLES = {
    "valoper": "it names a validator, not an account",
    "valcons": "it names a validator's node, not an account",
    "pub": "it is a public key, not an address",
}


def encode(prefix: str, account: bytes) -> str:
    """Returns the bech32 address with this prefix for ``account``, a hash of 20 or 32 bytes."""
    return bech32.encode(prefix, bech32.regroup(account, 8, 5, pad=True), bech32.BECH32)


def read(text: str, *, unlisted: bool = False) -> ParsedAddress:
    """Returns the checked address and the chain of its prefix. ``unlisted`` allows an unknown
    prefix, which adds a warning. Raises AddressProblem."""
    prefix = _prefix(text)
    network = NETWORKS.get(prefix)
    if network is not None:
        return ParsedAddress(_account(text), network=network.name)
    if not unlisted:
        raise wrong_start("the prefix of a chain known here, as cosmos1")
    if not prefix.isalnum():
        raise wrong_start("the prefix of a chain, as cosmos1")
    return ParsedAddress(_account(text), network=f"{prefix}1", warnings=(UNLISTED,))


def _prefix(text: str) -> str:
    """Returns the prefix in lower case; empty if there is no separator. Raises AddressProblem if
    the prefix says that the text is not an account."""
    prefix, separator, _ = text.lower().partition("1")
    for role, clause in _ROLES.items():
        if separator and prefix.endswith(role) and len(prefix) > len(role):
            raise AddressProblem("prefix", clause, 1)
    return prefix if separator else ""


def _account(text: str) -> str:
    prefix = text.lower().partition("1")[0]
    lowered = bech32.require(text, len(prefix) + 1)
    require_length(len(text), (len(prefix) + 39, len(prefix) + 59))
    account, is_bech32 = bech32.read_bytes(lowered, prefix)
    if not is_bech32:
        raise AddressProblem("checksum", "its checksum is of another form than this chain's")
    refuse_burned(account)
    return lowered


COSMOS = AddressKind(
    name="cosmos",
    chain="Cosmos Hub",
    called="a Cosmos address",
    needs="one that starts with cosmos1",
    shape=NETWORKS["cosmos"].pattern,
    read=read,
    read_unlisted=partial(read, unlisted=True),
    networks=tuple(NETWORKS.values()),
    marks=tuple(f"{prefix}1" for prefix in NETWORKS),
    memo=MemoRule("memo", per_client=True),
    links=dict.fromkeys(("cosmos", "osmosis", "celestia"), LinkForm(memo=("memo",))),
    namespace="cosmos",
    explorers=("www.mintscan.io",),
    generate=lambda seed, mark: encode(str(mark), expand(seed, "cosmos address", 20)),
    spell_hash=in_capitals,
)
