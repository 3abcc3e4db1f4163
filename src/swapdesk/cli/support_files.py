"""``support``: a case as a file, and one that was sent."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from swapdesk.cli import completion
from swapdesk.cli.cli_context import CliContext, desk_command, on_desk
from swapdesk.cli.command_error import CORRECT, UNMOVED, CommandError, Exit, bad_input

if TYPE_CHECKING:
    from swapdesk.cli.session import CommandSession
    from swapdesk.flows.support.case_file import CaseFile, Shown

KINDS = ("addresses", "amounts", "memos", "hashes", "names")
FILE = click.Path(path_type=Path, dir_okay=False)


class BundleWritten(Struct, frozen=True):
    """The file, and the kinds of facts that are masked in it."""

    file: str
    masked: tuple[str, ...]


@click.group()
def support() -> None:
    """Write an order into a file that may be posted publicly, and read such files."""


def _kinds(_: click.Context, option: click.Parameter, words: str) -> set[Shown]:
    from swapdesk.flows.support.case_file import Shown

    kinds = {word.strip() for word in words.split(",") if word.strip()}
    if unknown := sorted(kinds - set(KINDS)):
        said = f"There is no {unknown[0]!r} to show: there are {', '.join(KINDS)}."
        raise bad_input("NO_SUCH_KIND", said, field="with")
    return {Shown(kind) for kind in kinds}


@support.command()
@click.argument("order", shell_complete=completion.open_orders)
@click.option("--out", type=FILE, help="The file; by default one named after the order, here.")
@click.option(
    "--with",
    "shown",
    metavar="KINDS",
    default="",
    callback=_kinds,
    help=f"What is not masked, with commas: {', '.join(KINDS)}.",
)
@on_desk("support_files:write_bundle", from_journal=True)
def bundle() -> None:
    """Write ORDER with its updates, requests, diagnosis and versions into one file (0600).

    ORDER is its id or the beginning of one. Nothing is sent. Keys, secrets and tokens never stand
    in the file; addresses, amounts, memos, hashes and names are masked unless --with names them.
    A file that is there is not replaced.
    """


async def write_bundle(
    session: CommandSession, order: str, out: Path | None, shown: set[Shown]
) -> None:
    from swapdesk.cli.order_reports import find_order
    from swapdesk.flows.support.case_file import (
        CaseFileRefused,
        case_file,
        contents,
        file_name,
        program_facts,
        write_case_file,
    )
    from swapdesk.flows.support.support_case import calls_about, facts_of

    tracked = await find_order(session, order)
    facts = facts_of(session.desk, tracked.service_id)
    assert facts is not None  # it was just read
    settings = session.settings
    file = case_file(
        calls_about(session.desk, facts),
        shown,
        program=program_facts(session.link.api.skew(), settings),
        secrets=settings.secrets,
    )
    output = session.call.output
    output.talk(*(f"{what}: {how}." for what, how in contents(file)))
    try:
        path = write_case_file(file, out or Path.cwd() / file_name(tracked.service_id))
    except CaseFileRefused as error:
        raise bad_input(
            "NOT_WRITTEN", str(error), field="out", money=UNMOVED, next=CORRECT
        ) from None
    output.say(
        f"Written to {path}. Nothing was sent.", document=BundleWritten(str(path), file.masked)
    )


@support.command("open")
@click.argument("file", type=FILE)
@desk_command
def open_file(call: CliContext, file: Path) -> int:
    """Show FILE as the desk showed it: without profile, keys, service or journal.

    In a terminal it opens the pages of the desk; elsewhere it prints the case. Its words are those
    of whoever wrote it: do not send them on.
    """
    case = _read(file)
    output = call.output
    if output.json:
        output.document(case)
    elif output.to_person and output.form == "table" and sys.stdin.isatty():
        from swapdesk.settings import DEFAULT_GLYPHS, DEFAULT_THEME
        from swapdesk.tui.case_file_app import CaseFileApp
        from swapdesk.tui.glyphs import wanted_set

        theme, glyphs = DEFAULT_THEME, DEFAULT_GLYPHS
        with suppress(CommandError):
            # Of the configuration only how it looks; without one the file is shown all the same.
            settings = call.settings(lenient=True)
            theme, glyphs = settings.theme.value, settings.glyphs.value
        return CaseFileApp(case, theme=theme, glyph_set=wanted_set(glyphs)).run() or Exit.DONE
    else:
        from swapdesk.flows.support.case_file import NOT_OURS

        sheet = case.record.sheet
        output.say(
            NOT_OURS,
            *filter(None, (case.newer,)),
            f"Written {case.written:%Y-%m-%d %H:%M} UTC. Masked in it:"
            f" {', '.join(case.masked) or 'nothing'}.",
            f"Order {sheet.order_id}, {sheet.route}: {''.join(text for text, _ in sheet.pair)}.",
            f"Cause: {sheet.cause}",
            f"Money: {sheet.money}",
            f"Acts: {sheet.acts}",
            f"By: {sheet.by}",
            *(f"Fact: {fact}" for fact in sheet.facts),
            *(f"Reply, not of this desk: {line}" for line in sheet.reply if line),
            *(
                f"Seen: {one.at:%H:%M:%S} {one.source}: {one.state}; {', '.join(one.changed)}"
                for one in case.record.moments
            ),
            *(
                f"Request: {one.at:%H:%M:%S} {one.method} {one.path} {one.status} {one.code}"
                for one in case.record.calls
            ),
        )
    return Exit.DONE


def _read(path: Path) -> CaseFile:
    from swapdesk.flows.support.case_file import CaseFileRefused, read_case_file

    try:
        return read_case_file(path)
    except CaseFileRefused as error:
        said = f"{path.name} is not opened. {error}"
        raise bad_input("NO_CASE_FILE", said, field="file") from None
