"""The transactions of an order as facts of its page; pure.

Each has the page of its chain's explorer where the chains are real. Nothing opens it by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.chain.addresses.explorers import transaction_link
from swapdesk.flows.journal.order_merge import linked_deposit
from swapdesk.flows.journal.transaction_log import Fate, OrderTransaction, TransactionRole
from swapdesk.flows.orders.deposit_destination import named_deposit, other_deposit, own_payment
from swapdesk.tui.spans import Span
from swapdesk.tui.widgets.detail_rows import Fact
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token

SANDBOX_ONLY = "sandbox transaction, no explorer knows it"
_LABELS = {
    TransactionRole.DEPOSIT: "Deposit tx",
    TransactionRole.BUNDLE: "Bundle tx",
    TransactionRole.APPROVE: "Approval tx",
    TransactionRole.RESET: "Reset tx",
    TransactionRole.SWAP: "Swap tx",
}
_NOTES = {Fate.SENT: "sent", Fate.FAILED: "failed"}


def transaction_facts(order: Order, made: Sequence[OrderTransaction], *, live: bool) -> list[Fact]:
    """What this desk sent for the order, each with its page; and what the service names as the
    deposit's transaction where that is another one, or is not in its link any more."""

    def fact(label: str, hash_: str, note: str = "") -> Fact:
        link = transaction_page(order.in_token, hash_) if live else ""
        below = below_hash(live=live)
        return Fact(label, address=hash_, note=note, link=link, below=below, key=hash_)

    facts = [fact(_LABELS[one.role], one.hash, _NOTES.get(one.fate, "")) for one in made if one.own]
    other = other_deposit(order, made)
    if other is not None:
        facts.append(fact("Service says", other))
    told = named_deposit(order, made)
    if own_payment(made) is None and told is not None and linked_deposit(order) is None:
        facts.append(fact(_LABELS[TransactionRole.DEPOSIT], told))
    return facts


def transaction_page(token: Token | None, transaction: str) -> str:
    """The explorer's page by the pattern of the chain; empty when there is no safe one."""
    chain = token.chain_data if token is not None else None
    if chain is None:
        return ""
    return transaction_link(chain.hash_url or chain.explorer_url, transaction) or ""


def below_hash(*, live: bool) -> tuple[str, ...]:
    """What stands under a hash that no explorer has."""
    return () if live else (SANDBOX_ONLY,)


def link_facts(order: Order, made: Sequence[OrderTransaction], *, live: bool) -> list[Fact]:
    """A link as text: nothing opens it by itself (contract 8.1).

    In the sandbox no explorer has the transaction, so its page would be an empty one; the
    facts of payout and refund say so beside their hashes.
    """
    link = order.hash_url
    if not link or not link.startswith("https://"):
        return []
    if live:
        return [Fact("Link", [Span(link, "muted")], copy=link, link=link)]
    shown = [order.out_transaction_out_hash, order.in_transaction_out_hash, order.refund_hash]
    if any(one in link for one in (*shown, *(one.hash for one in made if one.own)) if one):
        return []
    paid = linked_deposit(order)
    if paid is not None and own_payment(made) is not None:
        # It stands beside the one that was sent.
        return []
    if paid is not None:
        return [Fact("Deposit tx", address=paid, below=below_hash(live=live), key="Link")]
    # Of which transaction it is nobody says.
    return [Fact("Link", [Span(SANDBOX_ONLY, "muted")])]
