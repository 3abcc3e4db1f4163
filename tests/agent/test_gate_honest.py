"""What is honest passes: every shape, without a reason to refuse and with every field shown."""

import pytest

from agent.gate_world import judged
from agent.honest import DOCUMENTS, HONEST
from swapdesk.agent.typed_data import read_document
from swapdesk.wallet.review import Match, Severity


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_payload_is_not_refused(name):
    honest = HONEST[name]
    verdict = judged(honest.payload, honest.promise, world=honest.world)
    assert [one for one in verdict.findings if one.severity is Severity.REFUSE] == []
    assert not verdict.refused
    assert verdict.phrase is None
    assert all(line.match is not Match.DIFFERS for line in verdict.lines)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_leaf_of_a_document_has_its_line(name):
    honest = HONEST[name]
    verdict = judged(honest.payload, honest.promise, world=honest.world)
    leaves = list(read_document(honest.payload.document).leaves())
    assert len(verdict.lines) == len(leaves)
    labels = [line.field for line in verdict.lines]
    assert len(set(labels)) == len(labels)
