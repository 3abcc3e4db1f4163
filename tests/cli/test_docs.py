"""``docs`` names the page on everything that a person meets, and each is there."""

from __future__ import annotations

import importlib
import pkgutil
import tomllib
from pathlib import Path

import pytest

from cli.desks import InProcess
from swapdesk import documents
from swapdesk.cli.contract_commands import error_codes
from swapdesk.cli.main import every_command
from swapdesk.documents import SCREENS, WrittenPlace, all_places, place, places_of
from swapdesk.documents import screens as places_of_screens
from swapdesk.tui import screens
from swapdesk.tui.page import Page
from swapdesk.wallet.rule_codes import RULES
from test_documents import ROOT, anchors


def is_there(found: WrittenPlace) -> bool:
    name, _, anchor = found.page.partition("#")
    assert found.file == str(ROOT / "docs" / name)
    return not anchor or anchor in anchors(Path(found.file))


def test_every_code_rule_exit_and_command_has_its_place() -> None:
    names = [one.code for one in error_codes()]
    names += [str(number) for one in error_codes() for number in one.exits]
    names += [*RULES, *(name for name, _ in every_command() if name != "swapdesk")]
    assert len(names) > 600
    for name in dict.fromkeys(names):
        found = places_of(name)
        assert found, name
        assert all(map(is_there, found)), name
        assert any(name in one.about for one in found), name


def test_every_screen_has_its_place() -> None:
    for module in pkgutil.iter_modules(screens.__path__):
        importlib.import_module(f"{screens.__name__}.{module.name}")
    pending, names = [Page], set()
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        if kind.NAME and kind.__module__.startswith(screens.__name__):
            names.add(kind.NAME)
    assert SCREENS.keys() <= names <= places_of_screens().keys()
    assert [
        name for name, page in places_of_screens().items() if not is_there(place(name, page))
    ] == []
    assert places_of("99") == []
    assert places_of("address  BOOK")[0].page == SCREENS["Address book"]


def test_it_names_pages_and_says_what_it_does_not_know(here: InProcess) -> None:
    listed = here("docs", "--json").document["pages"]
    assert {"Trader's guide", "Errors"} <= {one["about"] for one in listed}
    told = here("docs", "wallet", "withdraw").stdout
    assert "reference/commands.md#swapdesk-wallet-withdraw" in told
    codes = here("docs", "http_418", "--json").document["pages"]
    assert [one["page"] for one in codes] == ["reference/errors.md#codes"]
    said = here.refused(2, "NO_SUCH_PAGE", "docs", "quots")["message"]
    assert said == "Nothing is written about 'quots'. Did you mean quotes?"


def test_a_site_is_named_once_there_is_one(
    here: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "SITE", "https://docs.example/desk/")
    (found,) = here("docs", "ABANDONED", "--json").document["pages"]
    assert found["address"] == "https://docs.example/desk/reference/errors.html#abandoned"
    assert found["address"] in here("docs", "abandoned").stdout


def forget() -> None:
    documents._text.cache_clear()
    documents._anchors.cache_clear()


def test_without_its_files_it_says_so(
    here: InProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(documents, "_folder", lambda: None)
    forget()
    try:
        assert here.refused(2, "NO_SUCH_PAGE", "docs")["message"] == "No documents are here."
        (found,) = here("docs", "quotes", "--json").document["pages"]
        assert (found["page"], found["file"]) == (SCREENS["Quotes"], None)
    finally:
        forget()


def test_a_wheel_has_every_page_that_is_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert all(shipped[one] == f"swapdesk/{one}" for one in shipped if one.startswith("docs/"))
    for page in (*SCREENS.values(), documents.COMMANDS, documents.ERRORS):
        name = f"docs/{page.partition('#')[0]}"
        assert name in shipped or name.rpartition("/")[0] in shipped, name
    assert len(all_places()) > 15
