"""The words that a shell offers for completion. They are names in the files of the profile; no
service is asked.

A shell asks at every press of ``tab``, so modules are imported only when they are needed. Names in
files, and names sent by a service, may contain any character, and a shell runs the inserted text at
the next ``enter``. A name is therefore offered only if none of its characters has a meaning for a
shell.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from swapdesk.settings import Settings

VARIABLE = "_SWAPDESK_COMPLETE"
"""The environment variable that a shell sets when it asks for words; its value names the shell.
Click reads it."""
MOST_ORDERS = 200
_HARMLESS = re.compile(r"@?[A-Za-z0-9][A-Za-z0-9._+-]*", re.ASCII)
_BOOK_LIMIT = 1 << 20

Offered = Callable[[click.Context, click.Parameter, str], list[str]]


def _offering(names: Callable[[Settings, str], Iterable[str]]) -> Offered:
    """Returns a completion function for click. ``names`` lists the candidates."""

    def offered(context: click.Context, _: click.Parameter, typed: str) -> list[str]:
        import sqlite3

        beginning = typed.lower()
        try:
            offers = dict.fromkeys(names(_settings(context), beginning))
        except (OSError, ValueError, sqlite3.Error):
            # Nothing is offered where nothing can be read.
            return []
        return [
            typed + name[len(typed) :]
            for name in offers
            if name[: len(typed)].lower() == beginning and _HARMLESS.fullmatch(name)
        ]

    return offered


def _settings(context: click.Context) -> Settings:
    from swapdesk.paths import find_home
    from swapdesk.settings import Options, SettingsError, load_settings

    chosen: str | None = None
    at: click.Context | None = context
    while at is not None and chosen is None:
        chosen, at = at.params.get("profile"), at.parent
    try:
        return load_settings(
            os.environ, find_home(os.environ), Options(profile=chosen), mending=True
        )
    except SettingsError as error:
        raise ValueError(str(error)) from None


@_offering
def tokens(settings: Settings, beginning: str) -> Iterable[str]:
    from swapdesk.database_reading import reading
    from swapdesk.flows.catalog.catalog_file import token_names

    with reading(settings.places.catalog) as db:
        return token_names(db, beginning)


@_offering
def chains(settings: Settings, _: str) -> Iterable[str]:
    from swapdesk.database_reading import reading

    with reading(settings.places.catalog) as db:
        return [name for (name,) in db.execute("SELECT DISTINCT short_name FROM chain ORDER BY 1")]


@_offering
def payees(settings: Settings, _: str) -> Iterable[str]:
    from swapdesk.toml_document import read_document

    return [f"@{name}" for name in read_document(settings.places.address_book, _BOOK_LIMIT).content]


@_offering
def open_orders(settings: Settings, _: str) -> Iterable[str]:
    from swapdesk.database_reading import reading

    with reading(settings.places.journal) as db:
        rows = db.execute(
            "SELECT service_id FROM orders WHERE ended = 0 ORDER BY number DESC LIMIT ?",
            (MOST_ORDERS,),
        )
        return [name for (name,) in rows]


@_offering
def accounts(settings: Settings, _: str) -> Iterable[str]:
    """Returns the names of the wallet's accounts. An account whose name a shell would misread is
    given by its address."""
    import json

    from swapdesk.paths import read_private

    names = json.loads(read_private(settings.places.keys / "names.json"))
    if not isinstance(names, dict):
        raise ValueError("no names")
    return [str(name if _HARMLESS.fullmatch(str(name)) else at) for at, name in names.items()]


@_offering
def profiles(settings: Settings, _: str) -> Iterable[str]:
    return settings.profiles


@_offering
def themes(settings: Settings, _: str) -> Iterable[str]:
    from swapdesk.palette_files import read_palettes

    return sorted(read_palettes(settings.home.themes).all)


@_offering
def subjects(settings: Settings, _: str) -> Iterable[str]:
    from swapdesk.documents import subjects

    return subjects()
