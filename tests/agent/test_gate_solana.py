"""Solana: known instructions alone, one payment or one swap of two parties."""

import pytest

from agent.gate_world import World, codes, judged
from agent.honest_solana import HONEST, POLICY, dishonest
from swapdesk.wallet.review import Match, Severity


def _judged(honest, **how):
    return judged(honest.payload, honest.promise, POLICY, honest.world, **how)


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_transaction_is_not_refused(name):
    verdict = _judged(HONEST[name])
    assert [one for one in verdict.findings if one.severity is Severity.REFUSE] == []
    assert verdict.phrase is None
    labels = [line.field for line in verdict.lines]
    assert len(set(labels)) == len(labels)
    assert all(line.match is not Match.DIFFERS for line in verdict.lines)


def test_no_dishonest_transaction_is_let_through():
    tried = list(dishonest())
    assert len(tried) >= 600
    assert [name for name, honest in tried if not _judged(honest).refused] == []


@pytest.mark.parametrize(("left", "refused"), [(20, False), (19, True)])
def test_a_blockhash_has_to_live_a_little_longer(left, refused):
    honest = HONEST["sol"]
    world = World(honest.world.simulation, blocks_left=left)
    verdict = judged(honest.payload, honest.promise, POLICY, world)
    assert ("BLOCKHASH_OLD" in codes(verdict)) is refused
