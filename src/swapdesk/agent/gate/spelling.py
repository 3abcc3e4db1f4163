"""EVM addresses in one spelling, so that they can be compared as text.

Catalogues write some in lower case. A spelling with a wrong checksum stays as it is, and equals
nothing that is signed.
"""

from __future__ import annotations

import re
from dataclasses import replace

from swapdesk.agent.gate.policy import Policy
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.wallet.promise import Asset, Promise

_WITHOUT_CHECKSUM = re.compile(r"0x([0-9a-f]{40}|[0-9A-F]{40})", re.ASCII)


def spelled(address: str) -> str:
    """With its checksum where it came without one; anything else as it is."""
    return checksummed(address) if _WITHOUT_CHECKSUM.fullmatch(address) else address


def spelled_promise(promise: Promise) -> Promise:
    """The same promise with every EVM address in its one spelling."""
    deposit = promise.deposit
    if deposit is not None:
        refund = None if deposit.refund is None else spelled(deposit.refund)
        deposit = replace(deposit, address=spelled(deposit.address), refund=refund)
    bundle = promise.bundle
    if bundle is not None:
        deposits = tuple(replace(one, address=spelled(one.address)) for one in bundle.deposits)
        bundle = replace(bundle, deposits=deposits)
    withdrawal = promise.withdrawal
    if withdrawal is not None:
        taken = tuple(replace(one, asset=_asset(one.asset)) for one in withdrawal.taken)
        withdrawal = replace(withdrawal, taken=taken)
    return replace(
        promise,
        account=spelled(promise.account),
        sell=_asset(promise.sell),
        buy=_asset(promise.buy),
        recipient=spelled(promise.recipient),
        deposit=deposit,
        bundle=bundle,
        withdrawal=withdrawal,
    )


def spelled_policy(policy: Policy) -> Policy:
    """The same policy with every EVM address in its one spelling."""
    return replace(
        policy,
        account=spelled(policy.account),
        venues=tuple(replace(one, address=spelled(one.address)) for one in policy.venues),
        spenders=frozenset(map(spelled, policy.spenders)),
        known=frozenset(map(spelled, policy.known)),
    )


def _asset(asset: Asset) -> Asset:
    return asset if asset.contract is None else replace(asset, contract=spelled(asset.contract))
