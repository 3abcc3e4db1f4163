"""``docs``: where something is written, on the site and in the files beside the program."""

from __future__ import annotations

import click
from msgspec import Struct

from swapdesk.cli import completion
from swapdesk.cli.cli_context import CliContext, desk_command
from swapdesk.cli.command_error import bad_input
from swapdesk.documents import WrittenPlace, all_places, places_of, subjects
from swapdesk.toml_document import nearest


class DocsDocument(Struct, frozen=True):
    """What is written about the name that was given, or every page."""

    pages: tuple[WrittenPlace, ...]


@click.command()
@click.argument("name", nargs=-1, shell_complete=completion.subjects)
@desk_command
def docs(call: CliContext, name: tuple[str, ...]) -> None:
    """Say where the documents speak of NAME: an error code, a command, the number that one ended
    with, or a screen as its frame names it.

    Without a NAME it lists the pages. They are files beside the program; a release that has a site
    names the address there, too.
    """
    words = " ".join(name)
    found = places_of(words) if words else all_places()
    if not found:
        near = nearest(words.casefold(), {one.casefold(): one for one in subjects()})
        hint = f" Did you mean {near}?" if near else ""
        said = f"Nothing is written about {words!r}.{hint}" if words else "No documents are here."
        raise bad_input("NO_SUCH_PAGE", said, field="name")
    rows = [(one.about, one.address or one.page, one.file or "") for one in found]
    call.output.table(("about", "page", "file"), rows, document=DocsDocument(tuple(found)))
