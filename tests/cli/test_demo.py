"""``demo``: the stages of each demonstration, the same for the same seed, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

from cli.desks import run_here
from forked_processes import in_fresh_interpreters
from harness import environment
from patience import PATIENCE
from recorded_demo import recorded
from rows import each_row
from swapdesk.cli.demo_report import demo_page
from swapdesk.cli.sandbox_commands import NAMES
from swapdesk.client.chain_lookup import ChainTransfer
from swapdesk.clock import ManualClock
from swapdesk.flows.demo.customers import AHEAD, ALIKE, COUNT, Customer, world_wait
from swapdesk.flows.demo.link_search import search_link
from swapdesk.flows.demo.stage import DEMOS
from swapdesk.tui.glyphs import HEAVY, RULE
from swapdesk.tui.screens.demo import path_lines
from swapdesk.tui.spans import plain_text

COMMAND = [sys.executable, "-m", "swapdesk", "demo"]


def demo(*words: str, home: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own, which orders its sets as no other does."""
    with in_fresh_interpreters():
        return subprocess.run(
            [*COMMAND, *words],
            env={**environment(home), "PYTHONHASHSEED": "11"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


def test_same_seed_tells_the_same_nine_stages(tmp_path: Path) -> None:
    """On the screen, and in a page that takes the place of an older one."""
    known, page = recorded("private"), tmp_path / "demo.html"
    page.write_text(demo_page(DEMOS["private"], known.stages, "an older one"))
    told = demo("private", "--auto", "--seed", "7", "--page", str(page), home=tmp_path)
    assert (told.returncode, told.stderr) == (0, f"Written: {page}.\n")
    assert told.stdout == known.text
    about = known.text.partition(": ")[2].partition("\n")[0]
    assert page.read_text() == demo_page(DEMOS["private"], known.stages, about)
    assert page.stat().st_mode & 0o777 == 0o600
    titles = re.findall(
        r"^\d of \d  (.*), [\d:]{8} on the sandbox clock$", told.stdout, re.MULTILINE
    )
    assert titles == [row.title for row in DEMOS["private"].rows]
    assert "payments  no path" in told.stdout
    assert not list(tmp_path.rglob("*.db")), "the home of the user was used"


def test_link_search_counts_others_who_are_on_the_chain() -> None:
    last = recorded("private").stages[-1]
    assert (last.search.path, last.search.shared, last.search.equal) == ((), (), ())
    lower_by, others, within, payouts = compared_figures()
    assert ALIKE <= others < payouts
    assert 0 < lower_by <= within
    # Both legs are on local chains, and nobody pays both ends.
    assert len(last.moved) == 3
    assert {each.chain for each in last.moved} == {"base", "ethereum"}


def compared_figures() -> tuple[float, int, int, int]:
    """How much less arrived, how many others within how many percent, of how many payouts."""
    amount, time, _ = recorded("private").stages[-1].compared
    found = re.fullmatch(r"−(\S+)%, (\d+) others within (\d+)%", amount.brief)
    since = re.search(r"(\d+) payouts since", time.brief)
    return float(found[1]), int(found[2]), int(found[3]), int(since[1])


def test_whatever_links_two_accounts_is_found() -> None:
    """A path over others in the order of time, an account that both have dealings with, and an
    equal amount; none of them backwards in time or from the end to the beginning."""

    def paid(minute: int, sender: str, receiver: str, units: int = 1) -> ChainTransfer:
        at = datetime(2026, 1, 1, 0, minute, tzinfo=UTC)
        return ChainTransfer("base", minute, at, "0x", 0, sender, receiver, None, units)

    def found(*moved: ChainTransfer) -> tuple[int, tuple[str, ...], int]:
        search = search_link(moved, "a", "z", {})
        return len(search.path), search.shared, len(search.equal)

    assert found(paid(1, "a", "x", 5), paid(2, "x", "y", 4), paid(3, "y", "z", 3)) == (3, (), 0)
    assert found(paid(2, "a", "x", 5), paid(1, "x", "z", 4)) == (0, ("x",), 0)
    assert found(paid(1, "x", "a", 5), paid(2, "x", "z", 4)) == (0, ("x",), 0)
    assert found(paid(1, "a", "x", 5), paid(2, "y", "z", 5)) == (0, (), 1)
    assert found(paid(1, "z", "x", 5), paid(2, "y", "a", 5)) == (0, (), 0)


@each_row("seed", range(20))
def test_every_run_has_customers_of_its_own_whose_payouts_are_like_bobs(seed: int) -> None:
    last, rng = recorded("private").stages[-1], random.Random(seed)
    customers = [Customer(f"{seed}", last.sold, last.amount, rng, at) for at in range(COUNT)]
    lower_by, _, percent, _ = compared_figures()
    lower, within = Decimal(str(lower_by)) / 100, Decimal(percent) / 100
    alike = [one for one in customers if 1 - within <= one.amount / last.amount * (1 - lower) <= 1]
    assert len(alike) >= ALIKE
    # Some are paid between her deposit and Bob's payout, the others come with her.
    early = [one for one in alike if one.comes_after < AHEAD]
    assert 0 < len(early) < len(alike)


async def test_customers_follow_the_speed_of_the_world() -> None:
    """Who began to wait in a slow world comes at once in a fast one."""
    clock, speed = ManualClock(), 1.0
    waiting = asyncio.create_task(world_wait(600, clock, lambda: speed))
    for _ in range(3):
        await asyncio.sleep(0)
        clock.advance(1)
    speed = 1000.0
    for _ in range(2):
        await asyncio.sleep(0)
        clock.advance(1)
    await asyncio.sleep(0)
    assert waiting.done()


STAGES = (
    ("500 USDC in Alice's wallet.", "Alice"),
    ("500 USDC at Pell's deposit address.", "the chain"),
    ("500 USDC with Pell, the first exchange.", "Pell"),
    ("ETH on its way to Halyard, the second exchange.", "the chain"),
    ("ETH at Halyard's deposit address.", "the chain"),
    ("ETH at Halyard's deposit address.", "the chain"),
    ("ETH with Halyard, the second exchange.", "Halyard"),
    ("USDC on its way to Bob.", "the chain"),
    ("USDC arrived at Bob's address.", "nobody"),
)


def test_money_line_follows_the_stage() -> None:
    """The service, which the order is read from, is behind the exchanges."""
    for stage, (money, actor) in zip(recorded("private").stages, STAGES, strict=True):
        assert stage.money.endswith(money)
        assert stage.next.partition(":")[0] == actor
        assert all(each.at <= stage.at for each in stage.moved)
    for name in ("private", "stuck"):
        for stage in recorded(name).stages:
            assert not re.search(r"\byou\b|\byour\b", f"{stage.money} {stage.next}"), stage.next


def test_the_missing_edge_is_drawn() -> None:
    stages = recorded("private").stages
    (alone,) = path_lines(stages[0], 76)
    assert re.fullmatch("Alice ─+→ Pell ─+→ ETH ─+→ Halyard ─+→ Bob", plain_text(alone))
    last = stages[-1]
    path, missing = map(plain_text, path_lines(last, 76))
    assert path == plain_text(alone).replace(RULE, HEAVY)
    assert len(missing) == len(path)
    assert re.fullmatch("Alice ╌+ ✗ no path on the chains ╌+→ Bob", missing)
    found = replace(last, search=replace(last.search, path=last.moved[:1]))
    assert "▲ 1 payment on the chains" in plain_text(path_lines(found, 76)[1])
    assert path_lines(last, 30) == []
    assert path_lines(recorded("stuck").stages[0], 76) == [], "one exchange sees both ends"


@pytest.mark.long
def test_a_stuck_order_is_found_by_its_transaction_alone_and_answered(tmp_path: Path) -> None:
    told = demo("stuck", "--auto", "--seed", "8", "--json", home=tmp_path)
    assert told.returncode == 0, told.stderr
    stages = [json.loads(line) for line in told.stdout.splitlines()]
    assert [one["title"] for one in stages] == [row.title for row in DEMOS["stuck"].rows]
    paid = stages[1]["transactions"][0]
    assert (paid["chain"], paid["symbol"], paid["amount"]) == ("base", "USDC", 500)
    said = "\n".join(line for one in stages[3:5] for pane in one["panes"] for line in pane["lines"])
    assert paid["hash"] in said, "the customer names the transaction"
    assert f"order {stages[0]['serviceId']}" in said
    assert "We never ask for a private key" in said


@each_row(
    ("words", "code", "said"),
    [
        (("nothing", "--auto"), 2, "'nothing' is not one of"),
        (("private", "--auto", "--seed", "x"), 2, "--seed"),
        (("private", "--auto", "--speed", "0"), 2, "A speed is above 0"),
        (("private", "--auto", "--amount", "1e3"), 2, "without an exponent"),
        (("private",), 2, "--auto tells the stages without one."),
    ],
)
def test_words_that_make_no_sense_begin_nothing(
    words: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    told = run_here("demo", *words, home=tmp_path)
    assert (told.code, told.stdout) == (code, "")
    assert said in told.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("stuck", "--token", "btc.bitcoin"), 2, "BTC is on Bitcoin, whose payments"),
        (("stuck", "--token", "eth.base"), 2, "This demonstration buys eth.base"),
        (("stuck", "--amount", "0.1"), 4, "The smallest amount for this swap is"),
    ],
)
def test_what_cannot_be_shown_is_said(
    words: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    told = run_here("demo", words[0], "--auto", *words[1:], home=tmp_path)
    assert told.code == code, told.stderr
    assert said in told.stderr


def test_live_profile_has_no_demonstration(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[profiles.real]\nurl = "https://api.example.com/v2"\n')
    (tmp_path / "config.toml").chmod(0o600)
    told = run_here("demo", "private", "--auto", "--profile", "real", home=tmp_path)
    assert told.code == 9
    assert "A demonstration needs the sandbox" in told.stderr


@pytest.mark.long
def test_reader_leaves_or_interrupts(tmp_path: Path) -> None:
    """Who closes the pipe ends it without a word, who interrupts it with a sentence; the world
    goes away with it."""
    place = tmp_path / "world"
    place.mkdir()
    with in_fresh_interpreters():
        running = [
            subprocess.Popen(
                [*COMMAND, "stuck", "--auto"],
                env={**environment(tmp_path), "TMPDIR": str(place)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
    leaves, interrupts = running
    for process in running:
        assert process.stdout.readline().startswith("Stuck order: 500")
    leaves.stdout.close()
    os.kill(interrupts.pid, signal.SIGINT)
    assert interrupts.communicate(timeout=PATIENCE)[1].lstrip().startswith("Interrupted.")
    assert interrupts.returncode == 130
    assert leaves.stderr.read() == ""
    assert leaves.wait(timeout=PATIENCE) == 0
    assert not list(place.iterdir())


def test_every_demonstration_has_its_name() -> None:
    assert set(NAMES) == DEMOS.keys()
