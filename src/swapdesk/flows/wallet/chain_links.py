"""The chains that a profile can sign for and read: those of the running sandbox, or those in a live
profile's configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from swapdesk.wallet.accounts import ChainLink, Kind

if TYPE_CHECKING:
    from swapdesk.settings import Settings
    from swapdesk.wire.chains import Chain


KINDS = {"evm": Kind.EVM, "sol": Kind.SOLANA}
"""The kinds of chains, by the names that the service uses for them."""
CONFIRMATIONS = {Kind.EVM: 2, Kind.SOLANA: 1}
LIVE_CONFIRMATIONS = {Kind.EVM: 6, Kind.SOLANA: 1}


def sandbox_links(ready: Mapping[str, Any]) -> tuple[ChainLink, ...]:
    """Returns the chains of a running sandbox. ``ready`` is the message that the sandbox sent when
    it had started."""
    return tuple(
        ChainLink(
            str(chain["shortName"]),
            KINDS[chain["kind"]],
            chain.get("chainId"),
            str(chain["rpc"]),
            CONFIRMATIONS[KINDS[chain["kind"]]],
        )
        for chain in ready.get("chains", ())
        if chain.get("kind") in KINDS
    )


def sandbox_makers(ready: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Returns (provider, Solana key) pairs: the keys with which the providers of a running sandbox
    sign. ``ready`` is the message that the sandbox sent when it had started."""
    return tuple((str(maker["provider"]), str(maker["key"])) for maker in ready.get("makers", ()))


def no_node(settings: Settings, chain: Chain) -> str:
    """Returns a text without a full stop: it says that ``chain`` has no node and, in a live
    profile, where to configure one."""
    if not settings.live:
        return f"this sandbox has no node of {chain.name}"
    where = f"[profiles.{settings.profile.value}.rpc]"
    return f"no node of {chain.name} is configured: set {chain.short_name} under {where}"


def is_private_node(url: str) -> bool:
    """True if nobody can read or change the connection to a node: https, or http to this
    machine."""
    from swapdesk.client.credentials import is_loopback

    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    own = parts.scheme == "http" and is_loopback(parts.hostname or "")
    return bool(parts.hostname) and (parts.scheme == "https" or own)


def live_links(
    settings: Settings, chain_of: Callable[[str], Chain | None]
) -> tuple[tuple[ChainLink, ...], list[str]]:
    """Returns the chains with a usable node in the configuration section ``[profiles.NAME.rpc]``,
    and a sentence for each unusable entry. ``chain_of`` returns None for an unknown chain."""
    links, problems = [], []
    for name, url in settings.rpc.value.items():
        chain = chain_of(name)
        kind = KINDS.get(chain.kind) if chain is not None else None
        if chain is None:
            problems.append(f"rpc: the service knows no chain {name}.")
        elif kind is None:
            problems.append(f"rpc: this wallet has no accounts of {chain.name}.")
        elif kind is Kind.EVM and chain.chain_id is None:
            problems.append(f"rpc: the service does not say which id {chain.name} has.")
        elif not is_private_node(url):
            problems.append(f"rpc: the node of {name} needs https.")
        else:
            chain_id = chain.chain_id if kind is Kind.EVM else None
            links.append(ChainLink(chain.short_name, kind, chain_id, url, LIVE_CONFIRMATIONS[kind]))
    return tuple(links), problems
