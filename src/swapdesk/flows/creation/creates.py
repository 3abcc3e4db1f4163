"""Creates in the ledger (the journal's list of acts): the confirmed intent, its parts, and the
order that was created.

A create is one operation of the ledger with the id of its intent. Its body has the intent and the
digest of the request. An on-chain swap has parts: approvals, resets and signatures before the
create is sent, then the order's transaction (``swap``) and the report of it to the service
(``confirm``). The result of its create has the ``plan`` of the swap.

While its outcome is open, a create holds a claim on its payment, so that no second create of the
same payment is sent. Once the order is committed, the create's ``subject`` is the order's id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from swapdesk.flows.intents.intent import FOREIGN, Intent, ReleaseVerdict
from swapdesk.flows.journal.ledger import OPEN, Kind, Ledger, Operation, State
from swapdesk.flows.orders.order_transactions import Source
from swapdesk.wire.orders import Order

if TYPE_CHECKING:
    from swapdesk.flows.journal.journal import Journal


class OrderTaken(Exception):
    """Raised if the order belongs to a different intent of this journal."""


def begin_create(
    ledger: Ledger, intent: Intent, digest: str, plan: dict[str, Any] | None = None
) -> Operation:
    """Records the create request of an intent before it is sent. ``digest`` is its SHA-256,
    ``plan`` has the steps of an on-chain swap. Raises ClaimTaken while an earlier request for the
    same payment has no known outcome."""
    body = {"intent": intent.as_json(), "digest": digest}
    claim = f"twin:{intent.fingerprint}"
    return ledger.begin("create", body, id=intent.id, claim=claim, plan=plan)


def intent_of(create: Operation) -> Intent:
    return Intent.from_json(create.body["intent"])


def become_order(
    journal: Journal,
    intent_id: str,
    order: Order,
    *,
    source: Source,
    verdict: ReleaseVerdict,
    request_id: str | None = None,
) -> ReleaseVerdict:
    """Records that ``order`` is the intent's order, before it is shown. Returns whether its address
    may be shown. If the intent already has another order, this one is recorded as not confirmed
    here. Raises OrderTaken if another intent has it."""
    ledger, service_id = journal.ledger, order.service_id
    with ledger.transaction() as db:
        makers = ledger.where("subject = ? AND kind = 'create'", service_id)
        if any(maker.id != intent_id for maker in makers):
            raise OrderTaken(service_id)
        if ledger.move(intent_id, State.DONE, subject=service_id, request_id=request_id):
            return journal.orders.put(db, order, source, verdict=verdict, intent_id=intent_id)
        return journal.orders.put(db, order, source, verdict=verdict if makers else FOREIGN)


def refuse_create(
    ledger: Ledger,
    intent_id: str,
    code: str,
    *,
    among: Sequence[State] = OPEN,
    status: int | None = None,
    request_id: str | None = None,
) -> bool:
    """Records that no order will be created for the intent. Returns False, and records nothing,
    unless its create request is in one of the states ``among``."""
    with ledger.transaction():
        create = ledger.get(intent_id)
        if create is None or not ledger.move(
            intent_id,
            State.REFUSED,
            among=among,
            code=code,
            status=status,
            request_id=request_id,
        ):
            return False
        parts = ledger.parts(intent_id) if create.state is State.PREPARED else []
        if parts:
            ledger.move(parts[-1].id, State.REFUSED, code=code)
        return True


def refuse_payment(ledger: Ledger, intent_id: str, code: str) -> bool:
    """Records that an on-chain swap's order will not be paid, or that the service refused the
    report of its payment. Returns False if the swap is already complete."""
    with ledger.transaction():
        parts = ledger.parts(intent_id, "swap", "confirm")
        last = parts[-1] if parts else ledger.begin("swap", {"digest": ""}, parent=intent_id)
        return ledger.move(last.id, State.REFUSED, code=code) or last.state is State.REFUSED


def open_creates(ledger: Ledger) -> list[Operation]:
    """Returns the create requests without a known outcome, oldest first."""
    return ledger.where("kind = 'create' AND state IN ('prepared', 'sent', 'unknown')")


def open_swaps(ledger: Ledger) -> list[Intent]:
    """Returns the intents of unfinished on-chain swaps, oldest first. A swap is finished once it is
    refused or confirmed to the service."""
    return [intent_of(create) for create in ledger.where(_OPEN_SWAPS)]


_OPEN_SWAPS = """number IN (
  SELECT made.number FROM operation AS made LEFT JOIN operation AS last ON last.number = (
    SELECT max(number) FROM operation WHERE parent = made.id
      AND (made.state = 'prepared' OR kind IN ('swap', 'confirm')))
  WHERE made.kind = 'create' AND made.state <> 'refused'
    AND last.state IS NOT 'refused' AND (last.kind IS NOT 'confirm' OR last.state <> 'done')
    AND json_extract(made.body, '$.intent.route') = 'dex')
"""


def acts_of(ledger: Ledger, intent_id: str) -> list[Operation]:
    """Returns all operations of an intent in the order of their beginning, the create request
    first."""
    return ledger.where("id = ?1 OR parent = ?1", intent_id)


def newest_part(
    ledger: Ledger, intent_id: str, kind: Kind, name: str | None = None
) -> Operation | None:
    """Returns the intent's latest transaction or document of this kind and name; None if there is
    none. Only documents have a ``name``."""
    parts = ledger.parts(intent_id, kind)
    return next((part for part in reversed(parts) if part.body.get("name") == name), None)
