"""Where on-chain venues stand: chains with their nodes, and pools."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.chain.deployments import MULTICALL3


@dataclass(frozen=True)
class ChainPlace:
    """A chain that is traded on. ``name`` is its short name, ``wrapped`` the contract of the
    wrapped native coin; after ``confirmations`` blocks a transaction counts as final."""

    name: str
    chain_id: int
    rpc: str
    wrapped: str
    confirmations: int
    multicall: str = MULTICALL3


@dataclass(frozen=True)
class PoolPlace:
    """A constant-product pool; ``fee`` in parts of 10,000."""

    address: str
    token0: str
    token1: str
    fee: int
