"""The table of faults: what each takes, and what is refused in a sentence."""

from __future__ import annotations

import pytest

from rows import each_row
from swapdesk.sandbox.fault_layer import BROKEN_ANSWERS
from swapdesk.sandbox.tables import EVM_CHAINS
from swapdesk.wire.faults import ANSWER_FAULTS, FAULTS, REMOVED, FaultRefused, fault_of
from swapdesk.wire.faults import EVM_CHAINS as NAMED

FAULT_NAMES = """
lost_response delay http_500 http_503 rate_limited garbage truncate
ws_drop ws_duplicate ws_reorder
fail_after_deposit reroute refund hold release fallback expire
delete
venue_down venue_slow
node_down forged_receipt drop_transaction
bundle_fail bundle_withdraw bundle_stuck
"""


def test_every_fault_is_known_by_its_name() -> None:
    assert list(FAULTS) == FAULT_NAMES.split()
    assert [fault.name for fault in ANSWER_FAULTS] == list(BROKEN_ANSWERS)
    assert NAMED == EVM_CHAINS


@each_row(
    ("name", "given", "field", "said"),
    [
        ("zzzz", ("operation",), "fault", "There is no fault 'zzzz'."),
        ("hodl", ("venue",), "fault", "There is no fault 'hodl'. Did you mean hold?"),
        ("\x1b[2J", (), "fault", r"There is no fault '\x1b[2J'."),
        ("delay", (), "operation", "delay needs a target: order or group or quote or operation."),
        ("delay", ("chain",), "chain", "delay takes no chain."),
        ("delay", ("operation", "quoteId"), "quoteId", "A fault has one selector."),
        ("delay", ("operation", "leg"), "leg", "delay takes no leg."),
        ("http_500", ("venue",), "venue", "http_500 takes no provider."),
        ("ws_reorder", ("quoteId",), "quoteId", "ws_reorder takes no quote."),
        ("expire", ("operation",), "operation", "expire takes no operation."),
        ("release", ("venue", "times"), "times", "release takes no times."),
        ("hold", ("venue", "seconds"), "seconds", "hold takes no seconds."),
        ("delete", ("venue",), "venue", "delete takes no provider."),
        ("venue_down", ("venue", "seconds"), "seconds", "venue_down takes no seconds."),
        ("node_down", (), "chain", "node_down needs a target: chain."),
        ("bundle_fail", (), "multiId", "bundle_fail needs a target: group."),
    ],
)
def test_what_cannot_be_set_says_why(
    name: str, given: tuple[str, ...], field: str, said: str
) -> None:
    with pytest.raises(FaultRefused) as refused:
        fault_of(name, given)
    assert (refused.value.field, str(refused.value)) == (field, said)


@each_row("name", REMOVED)
def test_a_fault_that_is_gone_says_so(name: str) -> None:
    with pytest.raises(FaultRefused, match=f"^{name} is gone in this version: ") as refused:
        fault_of(name, ("part", "depth"))
    assert refused.value.field == "fault"
    assert name not in FAULTS
