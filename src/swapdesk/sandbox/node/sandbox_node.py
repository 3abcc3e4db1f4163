"""The node with the chains it carries, opened from its data directory."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from msgspec import Struct

from swapdesk.clock import SystemClock
from swapdesk.sandbox.chain_rows import EVM_CHAINS, ChainIds
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.node.event_sender import EventSender
from swapdesk.sandbox.node.evm.embedding import Embedding
from swapdesk.sandbox.node.evm.http_endpoint import Door
from swapdesk.sandbox.node.evm.wallets import EvmWallets
from swapdesk.sandbox.node.mined_log import ChainFileMismatch, LogDamaged
from swapdesk.sandbox.node.node import Node, NodeApp, OtherTerms
from swapdesk.sandbox.node.solana.node import SolanaNode
from swapdesk.sandbox.node.solana.wallets import SolanaWallets
from swapdesk.sandbox.partner_keys import load_key

TICK_SECONDS = 0.1
BUNDLER = "bundler"
"""The source of events of operations."""
DATABASE = "node.db"


class SandboxNode(Struct, frozen=True):
    """A node with the chains it carries."""

    node: Node
    chains: Embedding
    solana: SolanaNode

    def application(self, token: str) -> NodeApp:
        door = Door(self.node.chain_faults, self.chains.call, self.solana.call)
        return NodeApp(self.node, token, door)

    def tell(self, sender: EventSender) -> None:
        """Have a sender told of what the service may want to ask about."""
        self.node.accounts.rows.on_change = lambda venue, key: sender.tell(venue, "orderId", key)
        self.chains.on_inclusion = lambda told: sender.tell(BUNDLER, "userOpHash", told)

    async def close(self) -> None:
        await self.chains.close()
        self.solana.close()
        self.node.close()


def open_node(
    data: Path,
    clock: SystemClock,
    *,
    seed: int | None = None,
    speed: Decimal | None = None,
    ids: ChainIds = "sandbox",
    pools: bool = True,
) -> SandboxNode:
    """The node of a data directory; the ``pools`` of its chains follow the market. Raises
    OtherTerms, OtherWorld, SandboxKeyRefused, ChainFileMismatch and LogDamaged."""
    key = load_key(data)
    wallets = {name: EvmWallets(name, key) for name in EVM_CHAINS}
    solana_wallets = SolanaWallets(key)
    node = Node(
        data / DATABASE,
        clock,
        seed=seed,
        speed=speed,
        embedded={**wallets, solana_wallets.name: solana_wallets},
    )
    try:
        node.begun_with("chain ids", ids)
        solana = SolanaNode(data, key, now_ms=node.clock.now_ms, faults=node.chain_faults)
        chains = Embedding(
            data,
            key,
            ids=ids,
            world=node.clock,
            clock=clock,
            faults=node.chain_faults,
            market=Market(node.seed) if pools else None,
        )
    except (OtherTerms, ChainFileMismatch, LogDamaged):
        node.close()
        raise
    node.chains, node.solana = chains, solana
    for each in wallets.values():
        each.embedding = chains
    solana_wallets.node = solana
    return SandboxNode(node, chains, solana)


async def keep_stepping(node: Node, clock: SystemClock, seconds: float = TICK_SECONDS) -> None:
    """Let time do its work until cancelled; ``seconds`` lie between two looks."""
    while True:
        node.step()
        await clock.sleep(seconds)
