"""What the agent itself holds to, whatever desk and service say."""

from __future__ import annotations

from dataclasses import dataclass, field

from swapdesk.chain.deployments import VenueContract
from swapdesk.chain.user_operation.smart_account import account_address


@dataclass(frozen=True)
class AccountFactory:
    """Makes smart accounts: proxies of ``implementation`` at addresses that follow from their
    owners."""

    address: str
    implementation: str


@dataclass(frozen=True)
class Policy:
    """One key on one chain of one profile.

    ``account`` is the key's address; ``chain_id`` and ``genesis_hash`` are those of the chain
    that the profile means, which key, intent and node have to agree with (``chain_id`` is None
    on Solana). ``venues`` are contracts by provider, ``makers`` the Solana keys of providers
    that sign their half of a swap; ``spenders`` come from the profile's configuration.
    ``known`` are addresses that were paid before. ``blind`` is the flag under which a document
    of unknown shape may be signed once its digest is typed. ``accounts`` makes the smart accounts
    whose operations may be signed; none are without it.
    """

    account: str
    chain_id: int | None
    genesis_hash: str
    venues: tuple[VenueContract, ...] = ()
    makers: frozenset[tuple[str, str]] = frozenset()
    spenders: frozenset[str] = field(default_factory=frozenset)
    known: frozenset[str] = field(default_factory=frozenset)
    blind: bool = False
    accounts: AccountFactory | None = None

    @property
    def smart_account(self) -> str | None:
        """Where the account's own one stands, or would; None where the profile makes none."""
        factory = self.accounts
        if factory is None or self.chain_id is None:
            return None
        return account_address(
            self.account, factory=factory.address, implementation=factory.implementation
        )

    def contracts_of(self, provider: str | None) -> tuple[VenueContract, ...]:
        """The contracts of the provider of a quote; of none for none."""
        return tuple(one for one in self.venues if one.provider == provider)
