"""``batch template`` and ``batch plan``: a file to begin with, and a file judged."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from swapdesk.cli.batch_report import tell_plan
from swapdesk.cli.call import Call
from swapdesk.cli.command_error import UNMOVED, bad_input, of_client_error
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.session import Session
from swapdesk.flows.batch.plan import BatchPlan
from swapdesk.flows.batch.planner import BatchPlanner
from swapdesk.flows.batch.reading import UnreadableFile, read_bytes, template, with_decimal_commas
from swapdesk.flows.batch.sheet import Sheet
from swapdesk.flows.orders.order_export import write_export
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.wire.operation import RateClass


def write_template(call: Call, out: Path | None) -> int:
    settings = call.settings()
    book = AddressBook.load(settings.places.address_book, sandbox=not settings.live)
    content = template(book).encode()
    if out is None:
        if call.output.json:
            call.output.document({"template": content.decode()})
        else:
            call.output.file(content)
        return Exit.DONE
    written = new_file(out, content)
    if call.output.json:
        call.output.document({"file": str(written)})
    else:
        call.output.talk(f"Written: {written}.")
    return Exit.DONE


def new_file(out: Path, content: bytes) -> Path:
    """Write a file of this very name. Exit 2 when there is one, or it cannot be written."""
    if os.path.lexists(out):
        raise bad_input("FILE_EXISTS", f"{out.name} is there already.", field="out", money=UNMOVED)
    try:
        return write_export(out, content)
    except OSError as error:
        said = error.strerror or "it cannot be written"
        raise bad_input("FILE", f"{out.name}: {said}.", field="out", money=UNMOVED) from None


async def planned(
    session: Session, file: Path, sell: str, *, decimal_comma: bool = False
) -> BatchPlan:
    """The plan of a file with its limits; what its heads do not say is told. Exit 2 for a file
    that is none."""
    try:
        content = await asyncio.to_thread(read_bytes, file)
        sheet = await _planner(session, sell).read(file.name, content)
        if decimal_comma:
            sheet = with_decimal_commas(sheet)
    except UnreadableFile as error:
        facts: dict[str, Any] = {} if error.line is None else {"line": error.line}
        raise bad_input(error.code, f"{error.reason} {error.do}", field="file", **facts) from None
    plan = await planned_sheet(session, sheet, sell)
    if plan.heads_note:
        session.call.output.talk(plan.heads_note)
    return plan


async def planned_sheet(session: Session, sheet: Sheet, sell: str) -> BatchPlan:
    """The plan of rows that were read."""
    await session.load_catalog()
    planner = _planner(session, sell)
    return await planner.with_limits(await planner.judged(sheet), session.link.api)


def _planner(session: Session, sell: str) -> BatchPlanner:
    desk = session.desk
    return BatchPlanner(
        desk.catalog, desk.book, desk.journal, desk.clock, sell, live=desk.settings.live
    )


async def show_plan(session: Session, file: Path, sell: str, *, decimal_comma: bool = False) -> int:
    plan = await planned(session, file, sell, decimal_comma=decimal_comma)
    await session.link.learn_rate_limits()
    left = session.link.api.budget.left(RateClass.EXCHANGE)
    tell_plan(session.call.output, plan, left)
    if plan.unasked is not None:
        raise of_client_error(plan.unasked)
    return Exit.BAD_INPUT if plan.problems else Exit.DONE
