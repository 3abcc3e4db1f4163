"""Which wallet, and which chains it signs for: what the desk tells the agent first."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.wallet.accounts import SANDBOX_PROFILE, Kind

AUTO_LOCK_SECONDS = 900.0


def has_smart_accounts(*, live: bool) -> bool:
    """Whether bundles on EVM chains can be paid: who makes smart accounts is known in the sandbox
    alone, and no setting names anybody."""
    return not live


@dataclass(frozen=True)
class ChainLink:
    """A chain by its short name. ``chain_id`` is None on Solana; ``rpc`` is the URL of a node;
    after ``confirmations`` blocks a transaction counts."""

    name: str
    kind: Kind
    chain_id: int | None
    rpc: str
    confirmations: int


@dataclass(frozen=True)
class WalletPlace:
    """The wallet of one profile.

    ``directory`` holds its keys; ``clock_offset`` is sandbox time ahead of the wall, and 0 for
    a live profile whatever is said. ``spenders`` are contracts that the profile's configuration
    allows beside the venues' own, ``known`` addresses that were paid before, ``makers`` the
    Solana keys of providers, each (provider, key), ``blind`` the flag for documents of unknown
    shape.
    """

    directory: str
    profile: str
    chains: tuple[ChainLink, ...] = ()
    auto_lock_seconds: float = AUTO_LOCK_SECONDS
    clock_offset: float = 0.0
    spenders: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    makers: tuple[tuple[str, str], ...] = ()
    blind: bool = False

    @property
    def live(self) -> bool:
        return self.profile != SANDBOX_PROFILE
