"""The commands ``why`` and ``inspect``, which find and explain an order, and the commands that
write a support case to a file or show such a file."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import CORRECT, UNMOVED, CommandError, Exit, bad_input, refused_as
from swapdesk.cli.order_reports import find_order, tell_open_calls
from swapdesk.cli.session import load_catalog
from swapdesk.client.errors import ClientError
from swapdesk.flows.notation import clock_time, iso
from swapdesk.flows.support.case_file import (
    NOT_OUR_REPLY,
    NOT_OURS,
    CaseFile,
    CaseFileRefused,
    Shown,
    case_file,
    case_page,
    contents,
    file_bytes,
    file_name,
    program_facts,
    read_case_file,
    write_case,
)
from swapdesk.flows.support.order_search import OrderSearch, Searched, begun_here
from swapdesk.flows.support.pasted_text import LONGEST, MAY_BEGIN, PastedText, Reading, read_pasted
from swapdesk.flows.support.support_case import (
    SupportCase,
    calls_about,
    case_sentence,
    facts_of,
)
from swapdesk.settings import DEFAULT_GLYPHS, DEFAULT_THEME


class CaseListDocument(Struct, frozen=True, rename="camel"):
    """The result of a search: how the text was read, and the cases found. If there are none,
    ``reply`` is for the customer and ``escalation`` for the service."""

    read_as: tuple[Reading, ...]
    searched: tuple[Searched, ...]
    orders: tuple[SupportCase, ...]
    reply: str | None = None
    escalation: str | None = None


async def report_search(
    call: CliContext, text: tuple[str, ...], reads: int, *, whole: bool
) -> None:
    """Finds the orders that ``text`` refers to, with at most ``reads`` calls, and prints their
    diagnosis. ``whole`` adds how the text was read and where it was searched."""
    await _load_catalog(call)
    pasted = _read(call, sys.stdin.read(LONGEST + 1) if text == ("-",) else " ".join(text))
    search = OrderSearch(call.desk, pasted)
    search.look_here()
    if whole:
        call.output.hint(*_readings(pasted))
    unspent = ""
    while (cost := search.next_cost) is not None:
        spent, places = cost
        if spent > reads:
            unspent = f"Not asked: {places}. --reads {spent} spends it."
            break
        reads -= spent
        async for _ in search.go_on():
            pass
        if any(place.answer == "failed" for place in search.searched):
            break
    if len(search.found) == 1 and reads:
        await _read_again(call, *search.found)
    facts_found = (facts_of(call.desk, service_id, search) for service_id in search.found)
    cases = [SupportCase.of(facts) for facts in facts_found if facts is not None]
    if not cases:
        if pasted.problem:
            raise _unreadable(pasted)
        if search.verdict and not unspent:
            _tell_nothing(call, search)
        raise _not_found(search, unspent)
    await tell_open_calls(call, search.found)
    _tell(call, search, cases, unspent, whole=whole)


why = partial(report_search, whole=False)
inspect = partial(report_search, whole=True)


async def _load_catalog(call: CliContext) -> None:
    catalog = call.desk.catalog
    await catalog.load_in_steps()
    if catalog.rows:
        return
    try:
        await load_catalog(call)
    except ClientError as error:
        reason = str(error).rstrip(".")
        call.output.talk(f"Tokens and chains could not be read: {reason}.")


async def _read_again(call: CliContext, service_id: str) -> None:
    tracker, now = call.link.tracker, call.desk.service_clock.now()
    tracked = tracker.recall(service_id)
    if tracked is None or tracked.archived(now):
        return
    try:
        await tracker.read(service_id)
    except ClientError as error:
        reason = str(error).rstrip(".")
        call.output.talk(f"The service could not be asked: {reason}. As last known:")


def _read(call: CliContext, text: str) -> PastedText:
    pasted = read_pasted(
        text,
        is_symbol=lambda word: bool(call.desk.catalog.rows_of_symbol(word)),
        own_secrets=call.desk.settings.secrets,
        begun=begun_here(call.desk),
    )
    if pasted.secret:
        raise CommandError(
            Exit.OWN_REFUSAL,
            "SECRET_PASTED",
            pasted.problem,
        )
    if not pasted.searchable:
        raise _unreadable(pasted)
    return pasted


def _unreadable(pasted: PastedText) -> CommandError:
    return bad_input("NOTHING_TO_LOOK_UP", pasted.problem, field="text")


def _not_found(search: OrderSearch, unspent: str) -> CommandError:
    places = "; ".join(f"{place.place}: {place.said}" for place in search.searched)
    failed = any(place.answer == "failed" for place in search.searched)
    message = " ".join(part for part in (search.verdict, unspent) if part)
    return CommandError(
        Exit.UNREACHABLE if failed else Exit.NOT_FOUND,
        "NOT_FOUND",
        f"{message or 'No order was found.'} Searched: {places}.",
        money=search.money,
        next=search.next,
    )


def _tell(
    call: CliContext,
    search: OrderSearch,
    cases: list[SupportCase],
    unspent: str,
    *,
    whole: bool,
) -> None:
    output = call.output
    output.say(document=_document(search, tuple(cases)))
    if whole:
        output.hint(*(f"{place.place}: {place.said}." for place in search.searched))
    if unspent:
        output.hint(unspent)
    output.hint(*(f"No order {name} was found." for name in search.unanswered))
    if len(cases) > 1:
        output.say(*map(case_sentence, cases))
        output.hint(f"{len(cases)} orders. Give the id of one for its diagnosis.")
        return
    case = cases[0]
    diagnosis = case.diagnosis
    output.say(case_sentence(case))
    rows = [
        ("Rule", f"{diagnosis.rule}, {diagnosis.certainty}"),
        ("Cause", diagnosis.cause),
        ("Money", diagnosis.money),
        ("Acts", diagnosis.acts),
        ("By", diagnosis.by),
        *(("Fact", fact) for fact in diagnosis.facts),
    ]
    if whole:
        rows += [
            (
                "At",
                f"{iso(update.happened)} {update.state}; {', '.join(update.changed)};"
                f" seen {iso(update.at)}, {update.source}",
            )
            for update in reversed(case.updates)
        ]
    output.facts(rows)
    output.say("", "Reply:", *case.reply.splitlines())


def _tell_nothing(call: CliContext, search: OrderSearch) -> None:
    output, reply, escalation = call.output, search.reply, search.escalation
    output.say(
        *("Reply:", *reply.splitlines(), "", "For the service:", *escalation.splitlines()),
        document=replace(_document(search), reply=reply, escalation=escalation),
    )


def _document(search: OrderSearch, orders: tuple[SupportCase, ...] = ()) -> CaseListDocument:
    return CaseListDocument(tuple(search.pasted.readings), tuple(search.searched), orders)


def _readings(pasted: PastedText) -> list[str]:
    lines = [f"Read as {reading.called}: {reading.value}." for reading in pasted.readings]
    if not lines:
        lines.append(f"Read as {MAY_BEGIN}: {', '.join(pasted.beginnings)}.")
    if pasted.cut:
        lines.append("The end of the text was not read.")
    return [*lines, pasted.warning] if pasted.warning else lines


class BundleWritten(Struct, frozen=True):
    """The file or page that was written, and the kinds of facts that are masked in it."""

    file: str
    masked: tuple[str, ...]


async def write_bundle(call: CliContext, order: str, out: Path | None, shown: set[Shown]) -> None:
    tracked = await find_order(call, order)
    facts = facts_of(call.desk, tracked.service_id)
    assert facts is not None  # it was just read
    settings = call.desk.settings
    file = case_file(
        calls_about(call.desk, facts),
        shown,
        program=program_facts(call.link.api.skew(), settings),
        secrets=settings.secrets,
    )
    call.output.talk(*(f"{what}: {how}." for what, how in contents(file)))
    _write(call, file, file_bytes(file), out, ".json")


def write_page(call: CliContext, file: Path, out: Path | None) -> int:
    case = _read_case(file)
    _write(call, case, case_page(case).encode(), out, ".html")
    return Exit.DONE


def _write(call: CliContext, case: CaseFile, data: bytes, out: Path | None, suffix: str) -> None:
    with refused_as(CaseFileRefused, "NOT_WRITTEN", field="out", money=UNMOVED, next=CORRECT):
        path = write_case(data, out or Path.cwd() / file_name(case.record.sheet.order_id, suffix))
    call.output.say(
        f"Written to {path}. Nothing was sent.", document=BundleWritten(str(path), case.masked)
    )


def show_case_file(call: CliContext, file: Path) -> int:
    """Shows a case file: on a terminal as pages of the desk, otherwise as printed lines. Returns
    the exit code."""
    case = _read_case(file)
    output = call.output
    if output.to_person and output.form == "table" and sys.stdin.isatty():
        from swapdesk.tui.case_file_app import CaseFileApp
        from swapdesk.tui.glyphs import wanted_set

        theme, glyphs = DEFAULT_THEME, DEFAULT_GLYPHS
        with suppress(CommandError):
            # Of the configuration only how it looks; without one the file is shown all the same.
            settings = call.settings(lenient=True)
            theme, glyphs = settings.theme.value, settings.glyphs.value
        return CaseFileApp(case, theme=theme, glyph_set=wanted_set(glyphs)).run() or Exit.DONE
    sheet = case.record.sheet
    output.say(
        NOT_OURS,
        *filter(None, (case.newer,)),
        case.made,
        f"Order {sheet.order_id}, {sheet.route}: {''.join(text for text, _ in sheet.pair)}.",
        *(f"{label}: {text}" for label, text in sheet.answers),
        *(f"Fact: {fact}" for fact in sheet.facts),
        *(f"{NOT_OUR_REPLY}: {line}" for line in sheet.reply if line),
        *(
            f"Seen: {clock_time(moment.at)} {moment.source}: {moment.state};"
            f" {', '.join(moment.changed)}"
            for moment in case.record.moments
        ),
        *(
            f"Request: {clock_time(request.at)} {request.method} {request.path}"
            f" {request.status} {request.code}"
            for request in case.record.calls
        ),
        document=case,
    )
    return Exit.DONE


def _read_case(path: Path) -> CaseFile:
    with refused_as(CaseFileRefused, "NO_CASE_FILE", f"{path.name} is not opened. ", field="file"):
        return read_case_file(path)
