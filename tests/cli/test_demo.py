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
from pathlib import Path

import pytest
from msgspec.structs import replace

from cli.desks import run_here
from forked_processes import in_fresh_interpreters
from harness import environment
from patience import PATIENCE
from recorded_demo import recorded
from swapdesk.cli.demo_command import NAMES
from swapdesk.cli.demo_transcript import in_new_world
from swapdesk.clock import ManualClock
from swapdesk.flows.demo.choice import DemoChoice
from swapdesk.flows.demo.customers import AHEAD, ALIKE, COUNT, Customer, world_wait
from swapdesk.flows.demo.demonstration import Stage
from swapdesk.flows.demo.demos import DEMOS
from swapdesk.flows.desk import Desk
from swapdesk.flows.intents.intent import Intent
from swapdesk.tui.glyphs import HEAVY, RULE
from swapdesk.tui.screens.demo_view import path_lines
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


def titles(text: str) -> list[str]:
    return re.findall(r"^\d of \d  (.*), \d\d:\d\d:\d\d on the sandbox clock$", text, re.MULTILINE)


def test_same_seed_tells_the_same_nine_stages(tmp_path: Path) -> None:
    told = demo("private", "--auto", "--seed", "7", home=tmp_path)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == recorded("private").text
    assert titles(told.stdout) == [row.title for row in DEMOS["private"].rows]
    assert "payments  no path" in told.stdout
    assert not list(tmp_path.rglob("*.db")), "the home of the user was used"


def test_link_search_counts_others_who_are_on_the_chain() -> None:
    last = recorded("private").facts[-1]
    assert last.search is not None
    assert last.remains is not None
    assert last.got is not None
    assert not last.search.found
    assert ALIKE <= last.remains.others < last.remains.payouts
    assert last.remains.got < last.remains.paid
    # Both legs are on local chains, and nobody pays both ends.
    assert len(last.moved) == 3
    assert {each.transfer.chain for each in last.moved} == {"base", "ethereum"}


@pytest.mark.parametrize("seed", range(20))
def test_every_run_has_customers_of_its_own_whose_payouts_are_like_bobs(seed: int) -> None:
    facts, rng = recorded("private").facts[-1], random.Random(seed)
    assert facts.remains is not None
    customers = [Customer(f"{seed}", facts.sold, facts.amount, rng, at) for at in range(COUNT)]
    lower, within = facts.remains.lower_by / 100, facts.remains.within / 100
    alike = [one for one in customers if 1 - within <= one.amount / facts.amount * (1 - lower) <= 1]
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
    for facts, (money, actor) in zip(recorded("private").facts, STAGES, strict=True):
        assert facts.money.endswith(money)
        assert facts.next.partition(":")[0] == actor
        assert all(each.transfer.at <= facts.at for each in facts.moved)
    for name in ("private", "stuck"):
        for facts in recorded(name).facts:
            assert not re.search(r"\byou\b|\byour\b", f"{facts.money} {facts.next}"), facts.next


def test_the_missing_edge_is_drawn() -> None:
    facts = recorded("private").facts
    (alone,) = path_lines(facts[0], 76)
    assert re.fullmatch("Alice ─+→ Pell ─+→ ETH ─+→ Halyard ─+→ Bob", plain_text(alone))
    path, missing = map(plain_text, path_lines(facts[-1], 76))
    assert path == plain_text(alone).replace(RULE, HEAVY)
    assert len(missing) == len(path)
    assert re.fullmatch("Alice ╌+ ✗ no path on the chains ╌+→ Bob", missing)
    search, paid = facts[-1].search, facts[-1].paid
    assert search is not None
    assert paid is not None
    found = replace(facts[-1], search=replace(search, path=(paid,)))
    assert "▲ 1 payment on the chains" in plain_text(path_lines(found, 76)[1])
    assert path_lines(facts[-1], 30) == []
    assert path_lines(recorded("stuck").facts[0], 76) == [], "one exchange sees both ends"


@pytest.mark.long
@pytest.mark.parametrize("name", ["swap", "stuck"])
def test_other_demonstrations_tell_their_stages(name: str, tmp_path: Path) -> None:
    told = demo(name, "--auto", "--seed", "8", "--json", home=tmp_path)
    assert told.returncode == 0, told.stderr
    stages = [json.loads(line) for line in told.stdout.splitlines()]
    rows = DEMOS[name].rows
    assert [one["title"] for one in stages if "stage" in one] == [row.title for row in rows]
    paid = stages[1]["transactions"][0]
    assert (paid["chain"], paid["symbol"], paid["amount"]) == ("base", "USDC", 500)
    if name == "stuck":
        said = "\n".join(
            line for one in stages[3:5] for pane in one["panes"] for line in pane["lines"]
        )
        assert paid["hash"] in said, "the customer names the transaction"
        assert f"order {stages[0]['serviceId']}" in said
        assert "We never ask for a private key" in said


@pytest.mark.parametrize(
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


@pytest.mark.long
def test_swap_on_a_chain_is_one_transaction_of_her_own() -> None:
    told = recorded("dex")
    assert titles(told.text) == [row.title for row in DEMOS["dex"].rows]
    last = told.facts[-1]
    swap = last.swap
    assert swap is not None
    assert swap.sent is not None
    assert last.completed
    # Both ends are in the one transaction that she sent, and she has what came.
    assert {each.transfer.hash for each in last.moved} == {swap.sent.hash}
    assert (last.moved[0].amount, last.moved[0].symbol) == (500, "USDC")
    assert last.paid is not None
    assert last.got is not None
    assert last.paid.sender == last.got.receiver == swap.account.lower()
    assert swap.holds == last.moved[-1].amount
    assert swap.holds >= swap.least
    (approval,) = swap.approvals or ()
    assert approval.height is not None
    assert swap.sent.height is not None
    assert approval.height < swap.sent.height
    # It is seen waiting before it is in a block.
    (sent,) = (each.swap for each, row in zip(told.facts, DEMOS["dex"].rows, strict=True)
               if row.name == "sent")  # fmt: skip
    assert sent is not None
    assert sent.sent is not None
    assert sent.sent.height is None


@pytest.mark.long
@pytest.mark.parametrize("left_at", ["order", "sent"])
def test_who_leaves_a_swap_on_a_chain_leaves_nothing_for_a_wallet_to_go_on_with(
    left_at: str,
) -> None:
    choice = DemoChoice("dex")

    async def leave(desk: Desk) -> list[Intent]:
        shown = choice.begin(desk, "leaves")

        def until(stage: Stage) -> None:
            if stage.row.name == left_at:
                assert desk.journal.swaps.open_swaps()
                raise KeyError(left_at)

        with pytest.raises(KeyError):
            await shown.run(until)
        await shown.close()
        return desk.journal.swaps.open_swaps()

    assert in_new_world(choice, leave) == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("swap", "--token", "btc.bitcoin"), 2, "BTC is on Bitcoin, whose payments"),
        (("swap", "--token", "nosuch"), 5, 'No token is called "nosuch"'),
        (("swap", "--amount", "0.1"), 4, "The smallest amount for this swap is"),
        (("dex", "--token", "eth.base"), 2, "ETH on Base is none of them."),
    ],
)
def test_what_cannot_be_shown_is_said(
    words: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    told = demo(words[0], "--auto", *words[1:], home=tmp_path)
    assert told.returncode == code, told.stderr
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
                [*COMMAND, "swap", "--auto"],
                env={**environment(tmp_path), "TMPDIR": str(place)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
    leaves, interrupts = running
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Swap: 500")
    assert leaves.stdout is not None
    leaves.stdout.close()
    os.kill(interrupts.pid, signal.SIGINT)
    assert interrupts.communicate(timeout=PATIENCE)[1].lstrip().startswith("Interrupted.")
    assert interrupts.returncode == 130
    assert leaves.stderr is not None
    assert leaves.stderr.read() == ""
    assert leaves.wait(timeout=PATIENCE) == 0
    assert not list(place.iterdir())


def test_every_demonstration_has_its_name() -> None:
    assert set(NAMES) == DEMOS.keys()
