"""What is said of a group's bundle: what was built, and where the money of it is. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.flows.failure_messages import IN_WALLET
from swapdesk.flows.journal.batch_records import Built, BundleState, JournaledBundle, WalletPayment
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.notation import exact_amount

NOT_PAID = f"{IN_WALLET}; no deposit was paid"


def plan_words(built: Built, *, funded: bool, left_out: int) -> str:
    """``1 bundle of 20 transfers, signed once; the smart account needs 0.004 ETH``. ``funded``:
    it was filled for this; ``left_out`` is how many rows are in no bundle."""
    said = _plan(built, funded=funded)
    return f"{said}; {left_out} row{'' if left_out == 1 else 's'} left out" if left_out else said


def _plan(built: Built, *, funded: bool) -> str:
    count, signed = len(built.deposits), len(built.items)
    transfers = f"{count} transfer{'' if count == 1 else 's'}"
    if built.kind == "solana":
        return f"{signed} transaction{'' if signed == 1 else 's'} of {transfers} in all"
    whole = f"1 bundle of {transfers}, "
    whole += "signed once" if signed == 1 else f"{signed} signatures"
    if not built.needs or funded:
        return f"{whole}; the smart account has what it needs"
    needs = " and ".join(f"{exact_amount(one.amount)} {one.symbol}" for one in built.needs)
    return f"{whole}; the smart account needs {needs}"


def bundle_whereabouts(
    bundle: JournaledBundle, *, filling: bool, funded: bool, withdrawn: str | None
) -> str:
    """Where the money of a bundle on an EVM chain is, without a point. ``filling``: what fills
    the smart account is on its way, ``funded``: it is there; ``withdrawn`` is the transaction by
    which the owner took it out again."""
    count, sender = len(bundle.built.deposits), bundle.built.sender
    account = f"in your smart account {sender}"
    if withdrawn is not None:
        account = f"back in your wallet, by transaction {withdrawn}"
    several = len(bundle.built.items) > 1
    match bundle.state:
        case BundleState.SENT | BundleState.UNKNOWN:
            return f"{account}, or on its way to the deposit addresses"
        case BundleState.SUBMITTED:
            return f"on its way from your smart account to {_places(count)}"
        case BundleState.CONFIRMED:
            return f"at {_places(count)}, by transaction {bundle.tx_hash}"
        case BundleState.FAILED if several:
            return f"{account}, or at the deposit addresses of the part that was paid"
        case BundleState.FAILED:
            return f"{account}; this bundle paid nobody"
        case BundleState.WITHDRAWN:
            return f"{account}, or back in your wallet; this bundle paid nobody"
        case BundleState.SIGNED:
            return f"{account}; nothing was submitted"
    if filling:
        return f"on its way to your own smart account {sender}, or still in your wallet"
    if funded or withdrawn is not None:
        return f"{account}; nothing was submitted"
    return NOT_PAID


def parts_whereabouts(bundle: JournaledBundle, parts: Sequence[WalletPayment]) -> str:
    """The same of a group on Solana, whose ``parts`` are transactions that pay deposits
    themselves."""
    done = [one for one in parts if one.state is StepState.ACKED]
    open_ = [one for one in parts if one.state is StepState.SENT]
    total = len(bundle.built.items)
    if bundle.state is BundleState.CONFIRMED:
        return f"at {_places(len(bundle.built.deposits))}, by {_times(total)}"
    if open_:
        return (
            f"{len(done)} of {_times(total)} paid; one is on its way, or still in your wallet:"
            f" {open_[-1].hash}"
        )
    if done:
        return f"{len(done)} of {_times(total)} paid; the rest is in your wallet"
    return NOT_PAID


def _places(count: int) -> str:
    return f"{count} deposit address{'' if count == 1 else 'es'}"


def _times(count: int) -> str:
    return f"{count} transaction{'' if count == 1 else 's'}"
