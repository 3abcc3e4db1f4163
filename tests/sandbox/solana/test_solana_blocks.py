"""How high the chain is, and which blockhashes are good: a matter of time alone."""

from __future__ import annotations

from sandbox.solana.solana_world import KEY, StandingTime
from swapdesk.sandbox.node.solana.machine import Blocks


def test_a_blockhash_is_good_for_150_blocks_from_its_own_on() -> None:
    time = StandingTime()
    blocks = Blocks(KEY, time, began_ms=time.now, reached=0)
    height = blocks.now().height
    blockhash, last = blocks.latest(height)
    assert last == height + 150
    assert not blocks.is_good(blocks.latest(height + 1)[0])
    time.pass_blocks(150)
    assert blocks.is_good(blockhash)
    time.pass_blocks(1)
    assert not blocks.is_good(blockhash)
    assert blocks.is_good(blocks.latest(height + 1)[0])


def test_a_clock_that_was_set_back_takes_no_block_away() -> None:
    time = StandingTime()
    began = time.now
    first = Blocks(KEY, time, began_ms=began, reached=0)
    low = first.now().height
    time.pass_blocks(40)
    assert first.now().height == low + 40
    time.now = began
    for blocks in (first, Blocks(KEY, time, began_ms=began, reached=low + 40)):
        assert blocks.now().height == low + 40
    time.pass_blocks(41)
    assert first.now().height == low + 41
