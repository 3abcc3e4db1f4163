"""No dishonest payload is let through; 1,400 and more, made from the honest set."""

import pytest

from agent.gate_world import codes, judged
from agent.mutations import everything, second_takings
from swapdesk.wallet.review import Match

SAMPLE = 7


def _accepted(mutations):
    """Those that the gate would sign without a word."""
    let_through = []
    for name, honest in mutations:
        verdict = judged(honest.payload, honest.promise, world=honest.world)
        if not verdict.refused:
            let_through.append(name)
    return let_through


def test_a_sample_of_dishonest_payloads_is_refused():
    assert _accepted(everything()[::SAMPLE]) == []


@pytest.mark.long
def test_every_dishonest_payload_is_refused():
    mutations = everything()
    assert len(mutations) >= 1_400
    assert len({name for name, _ in mutations}) >= 1_400
    assert _accepted(mutations) == []


def test_a_field_that_was_refused_is_marked():
    marked = 0
    for _, honest in everything()[::101]:
        verdict = judged(honest.payload, honest.promise, world=honest.world)
        fields = {one.field for one in verdict.findings if one.severity == "refuse"} - {None}
        for line in verdict.lines:
            assert (line.match is Match.DIFFERS) == (line.field in fields)
            marked += line.match is Match.DIFFERS
    assert marked


def test_what_was_confirmed_is_not_let_out_twice():
    """Of all shapes and their mixtures, whatever their keys, nonces and contracts."""
    asked = let_through = 0
    for name, honest, memory in second_takings():
        alone = judged(honest.payload, honest.promise, world=honest.world, nonce=2)
        assert not alone.refused, name
        said = judged(honest.payload, honest.promise, world=honest.world, memory=memory, nonce=2)
        assert "ALLOWANCE_SUM" in codes(said), name
        asked += 1
        let_through += not said.refused
    assert asked > 200
    assert not let_through
