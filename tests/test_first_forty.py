"""The hostile cases of addresses, patterns and paths, each against the room it belongs to.

Texts, markup and numbers are taken by the tests of `wire` and `tui`; scripted servers and
lost creates by those of `client` and `flows`. Signed data waits for the room that signs.
"""

from __future__ import annotations

import pytest

from corpus import Case, load
from rows import each_row
from swapdesk.chain.addresses.checking import check_address, check_recipient, pattern_fits
from swapdesk.wire.encoding.ids import safe_segment
from swapdesk.wire.encoding.text import UnsafeText


def test_all_forty_are_there() -> None:
    assert len(load()) == 40
    assert len({case.id for case in load()}) == 40


@each_row("case", load("address"), ids=lambda case: case.id)
def test_a_hostile_address_is_refused(case: Case) -> None:
    assert not check_address(case.input["kind"], case.input["address"]).ok


@each_row("case", load("path"), ids=lambda case: case.id)
def test_a_hostile_id_is_no_path_segment(case: Case) -> None:
    with pytest.raises(UnsafeText):
        safe_segment(case.text)


@each_row("case", load("pattern"), ids=lambda case: case.id)
def test_a_hostile_pattern_neither_stalls_nor_widens(case: Case) -> None:
    # An exponential engine would need hours here and run into the time limit of every test.
    address = Case("", "", case.input["address"], {}).text
    verdict = check_recipient(case.input.get("kind", "evm"), address, case.input["pattern"])
    assert not verdict.ok


def test_the_bomb_is_run_by_the_linear_engine() -> None:
    (bomb,) = [case for case in load("pattern") if case.id == "regex-bomb"]
    address = Case("", "", bomb.input["address"], {}).text
    assert pattern_fits(bomb.input["pattern"], address) is False
