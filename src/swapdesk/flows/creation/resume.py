"""Unfinished business at the start: what a crash, a kill or a lost answer left open.

Runs before anything new may be created. An intent that never left is dropped; one that
left is looked up at the service; an order whose repetition was interrupted is read again.
"""

from __future__ import annotations

import asyncio

from msgspec import Struct, field

from swapdesk.client.concurrency import together
from swapdesk.flows.creation.exchange import ExchangeFlow
from swapdesk.flows.creation.order_verification import Created, CreateUnknown, NotCreated
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import JournaledOrder, StepState
from swapdesk.flows.journal.order_merge import display_of, ended


class ResumeReport(Struct):
    """What was found, by intent. ``elsewhere`` belong to another desk that still runs; the look
    for the order of ``left`` was broken off; ``problem`` says why the journal could not be used,
    if it could not."""

    found: list[tuple[Intent, Created]] = field(default_factory=list)
    not_created: list[Intent] = field(default_factory=list)
    unknown: list[tuple[Intent, CreateUnknown]] = field(default_factory=list)
    elsewhere: list[Intent] = field(default_factory=list)
    left: list[Intent] = field(default_factory=list)
    problem: str | None = None

    @property
    def empty(self) -> bool:
        return not (self.found or self.not_created or self.unknown)


def _goes_on(journal: Journal, intent: Intent) -> bool:
    """A swap on chains whose create never left is taken on where it stopped (``dex_swap``); of
    one whose create did leave the order is looked for as of every other."""
    if intent.route != "dex":
        return False
    step = journal.intents.step(intent.id)
    return step is None or step.name != "create"


async def resume(
    journal: Journal, flow: ExchangeFlow, patience: float | None = None
) -> ResumeReport:
    """Settle every unfinished intent whose owner is gone. Never posts anything.

    ``patience`` is for whoever creates nothing afterwards: how many seconds it may take. A look
    that is broken off then proves nothing, and its intent stays open.
    """
    report = ResumeReport()
    try:
        async with asyncio.timeout(patience):
            await _settle(journal, flow, report)
    except TimeoutError:
        others = {one.id for one in (*report.elsewhere, *(one for one, _ in report.unknown))}
        report.left = [
            entry.intent
            for entry in journal.intents.unfinished()
            if entry.intent.id not in others and not _goes_on(journal, entry.intent)
        ]
    return report


async def _settle(journal: Journal, flow: ExchangeFlow, report: ResumeReport) -> None:
    """All of them at once: the wait for one is the wait for all."""
    looks = [_look(journal, flow, report, entry.intent) for entry in journal.intents.unfinished()]
    await together(*looks)
    await together(*(_repeat(journal, flow, report, one) for one in journal.orders.unrepeated()))


async def _look(journal: Journal, flow: ExchangeFlow, report: ResumeReport, intent: Intent) -> None:
    """Settle one unfinished intent."""
    if intent.id in flow.running or _goes_on(journal, intent):
        return
    if not journal.intents.adopt(intent.id):
        report.elsewhere.append(intent)
        return
    step = journal.intents.step(intent.id)
    if step is None or step.state is StepState.PREPARED or step.sent_at is None:
        if journal.intents.mark_refused(intent.id, code="NOT_SENT"):
            report.not_created.append(intent)
        return
    if step.state is StepState.SENT and not journal.intents.mark_unknown(
        intent.id, code="INTERRUPTED"
    ):
        return
    before = journal.orders.index.seen_before(step.sent_at)
    # Nobody gives it up or takes an order for it while it is looked for.
    flow.running.add(intent.id)
    try:
        outcome = await flow.resolve(intent, step.server_at or step.sent_at, before)
    finally:
        flow.running.discard(intent.id)
    if isinstance(outcome, Created):
        report.found.append((intent, outcome))
    elif isinstance(outcome, NotCreated):
        report.not_created.append(intent)
    else:
        report.unknown.append((intent, outcome))


async def _repeat(
    journal: Journal, flow: ExchangeFlow, report: ResumeReport, known: JournaledOrder
) -> None:
    """Let the service repeat an order that it has not repeated yet."""
    confirmed = journal.intents.get(known.intent_id) if known.intent_id else None
    found = {created.order.service_id for _, created in report.found}
    if confirmed is None or ended(display_of(known.order)) or known.order.service_id in found:
        return
    again = await flow.confirm_again(confirmed.intent, known.order)
    report.found.append((confirmed.intent, again))
