"""The chains of a profile: one client each, opened when first asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from swapdesk.agent.process.refusal import Refusal
from swapdesk.chain.deployments import SANDBOX_CHAIN_IDS
from swapdesk.chain.rpc.evm import EvmClient
from swapdesk.wallet.accounts import Account, Kind, Origin
from swapdesk.wallet.place import ChainLink
from swapdesk.wallet.protocol import RefusalCode as Code

if TYPE_CHECKING:
    from swapdesk.chain.rpc.solana import SolanaClient

MAINNET_SOLANA = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
"""Genesis hash of Solana's main network."""


class Chains:
    """Links by the short name of their chain."""

    def __init__(self, links: Iterable[ChainLink]) -> None:
        self._links = {link.name: link for link in links}
        self._evm: dict[str, EvmClient] = {}
        self._solana: dict[str, SolanaClient] = {}

    def link(self, name: str, kind: Kind) -> ChainLink:
        """Raises Refusal for a chain that the profile does not have, or of another kind."""
        link = self._links.get(name)
        if link is None or link.kind is not kind:
            raise Refusal(Code.OTHER_CHAIN, f"this profile has no node of the chain {name[:32]!r}")
        return link

    def evm(self, link: ChainLink) -> EvmClient:
        client = self._evm.get(link.name)
        if client is None:
            client = self._evm.setdefault(link.name, EvmClient(link.rpc))
        return client

    def solana(self, link: ChainLink) -> SolanaClient:
        from swapdesk.chain.rpc.solana import SolanaClient

        client = self._solana.get(link.name)
        if client is None:
            client = self._solana.setdefault(link.name, SolanaClient(link.rpc))
        return client

    async def close(self) -> None:
        while self._evm:
            await self._evm.popitem()[1].close()
        while self._solana:
            await self._solana.popitem()[1].close()


def refuse_foreign_chain(account: Account, link: ChainLink, genesis: str | None) -> None:
    """A key of the sandbox signs for the sandbox's chains only, and no other key for them.

    A sandbox that stands in for real chains carries their ids; there only keys sign that were
    made in the sandbox, which hold nothing anywhere else. Raises Refusal.
    """
    if link.kind is Kind.SOLANA:
        if account.sandboxed and genesis == MAINNET_SOLANA:
            raise Refusal(Code.OTHER_CHAIN, "a key of the sandbox never signs for the main network")
        return
    of_sandbox = (link.chain_id or 0) >= SANDBOX_CHAIN_IDS
    if account.sandboxed and not of_sandbox and account.origin is not Origin.CREATED:
        raise Refusal(Code.OTHER_CHAIN, "an imported key of the sandbox never signs for real ids")
    if not account.sandboxed and of_sandbox:
        raise Refusal(Code.OTHER_CHAIN, "a live key never signs for a chain of the sandbox")
