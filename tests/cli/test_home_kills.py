"""Two desks and three commands of one home that are killed at random: nothing is lost, nothing is
doubled, everything is settled, and the chains have what the desk says."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.home_kills import Home, play
from harness import running_sandbox

ROUNDS, KILLS = 8, 25
PAYS = {"with a key": False, "that pays each call": True}


def played(directory: Path, kills: int, rounds: int, *, pays: bool) -> Home:
    with running_sandbox(directory / "home", wallet=True) as sandbox:
        home = Home(sandbox, directory, seed=kills, pays=pays)
        for number in range(rounds):
            play(home, kills)
            home.settle()
            assert home.wrong() == [], (number, home.kills, home.told)
    assert home.kills.total() == kills * rounds
    return home


@pytest.mark.timeout(900)
def test_a_home_whose_processes_are_killed_loses_nothing_and_pays_once(tmp_path: Path) -> None:
    played(tmp_path, 3, 1, pays=False)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("pays", PAYS.values(), ids=PAYS)
def test_a_home_whose_processes_are_killed_two_hundred_times(tmp_path: Path, pays: bool) -> None:
    home = played(tmp_path, KILLS, ROUNDS, pays=pays)
    assert {"desk", "swap", "fund", "batch", "wallet"} <= {*home.kills}
    for command in ("swap", "fund", "batch", "wallet", "api"):
        assert home.told[command, 0, ""], command
