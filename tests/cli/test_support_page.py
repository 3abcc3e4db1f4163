"""`support page` writes one page of a case file, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.desks import InProcess
from flows.support.case_documents import whole_case
from flows.support.test_case_file import REFUSED
from swapdesk.cli.command_error import Exit
from swapdesk.flows.support.case_file import case_page, file_bytes


@pytest.fixture
def case(tmp_path: Path) -> Path:
    path = tmp_path / "case.json"
    path.write_bytes(file_bytes(whole_case()))
    return path


def test_a_page_is_private_and_replaces_nothing(here: InProcess, case: Path) -> None:
    """Without profile, service or journal."""
    page = case.with_name("page.html")
    before = os.umask(0)
    try:
        told = here("support", "page", str(case), "--out", str(page))
    finally:
        os.umask(before)
    assert told.stdout == f"Written to {page}. Nothing was sent.\n"
    assert page.read_text("utf-8") == case_page(whole_case())
    assert page.stat().st_mode & 0o777 == 0o600
    refused = here.refused(
        Exit.BAD_INPUT, "NOT_WRITTEN", "support", "page", str(case), "--out", str(page)
    )
    assert "is there already; it was not replaced" in refused["message"]
    link = case.with_name("link.html")
    link.symlink_to(case.with_name("elsewhere.html"))
    assert here("support", "page", str(case), "--out", str(link)).code == Exit.BAD_INPUT
    assert not link.exists()


def test_it_is_named_after_the_order(
    here: InProcess, case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(case.parent)
    document = here.made("support", "page", "case.json")
    page = Path(document["file"])
    assert page.name == f"swapdesk-case-{whole_case().record.sheet.order_id[:12]}.html"
    assert page.parent == case.parent
    assert document["masked"] == []


@pytest.mark.parametrize("name", ["empty", "too large", "deep", "first day of all", "not whole"])
def test_what_is_no_case_makes_no_page(here: InProcess, case: Path, name: str) -> None:
    case.write_bytes(REFUSED[name]())
    page = case.with_name("page.html")
    words = ("support", "page", str(case), "--out", str(page))
    refused = here.refused(Exit.BAD_INPUT, "NO_CASE_FILE", *words)
    assert refused["message"].startswith("case.json is not opened. ")
    assert not page.exists()


def test_a_file_that_is_not_there_makes_no_page(here: InProcess, tmp_path: Path) -> None:
    missing = str(tmp_path / "none.json")
    here.refused(Exit.BAD_INPUT, "NO_CASE_FILE", "support", "page", missing)
