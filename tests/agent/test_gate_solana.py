"""Solana: known instructions alone, one payment or one swap of two parties."""

from base64 import b64decode, b64encode

import pytest
from msgspec.structs import replace

from agent.gate_world import World, changes, codes, judged
from agent.honest_solana import (
    DEPOSIT,
    HONEST,
    ME,
    PAY_SOL,
    PAY_TOKENS,
    POLICY,
    SOL,
    STRANGE,
    UNITS,
    USDC,
    dishonest,
    serialized,
    tokens,
)
from swapdesk.chain.solana import ComputePrice, Memo
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


@pytest.mark.parametrize(
    ("instruction", "code"),
    [
        (tokens(ME, DEPOSIT, UNITS, decimals=7), "SOLANA_DECIMALS"),
        (STRANGE["delegate"], "SOLANA_INSTRUCTION_UNKNOWN"),
        (STRANGE["another program"], "SOLANA_INSTRUCTION_UNKNOWN"),
        (STRANGE["price twice"], "SOLANA_REPEATED"),
        (STRANGE["dear price"], "GAS_ABOVE"),
        (Memo("x" * 900).build(), "SOLANA_UNREADABLE"),
    ],
)
def test_what_is_wrong_with_a_transaction_is_named(instruction, code):
    honest = HONEST["tokens"]
    first = [ComputePrice(1).build()] if code == "SOLANA_REPEATED" else []
    text = serialized([*first, *PAY_TOKENS, instruction])
    payload = replace(honest.payload, transaction=text)
    assert code in codes(judged(payload, honest.promise, POLICY, honest.world))


def test_a_transaction_that_never_expires_is_refused_by_name():
    honest = HONEST["sol"]
    text = serialized([STRANGE["durable nonce"], *PAY_SOL])
    payload = replace(honest.payload, transaction=text)
    assert "SOLANA_DURABLE_NONCE" in codes(judged(payload, honest.promise, POLICY, honest.world))


def _flipped(honest, step):
    """The transaction with one byte changed, every ``step`` bytes."""
    raw = b64decode(honest.payload.transaction)
    for i in range(0, len(raw), step):
        for mask in (0x01, 0x80, 0xFF):
            changed = raw[:i] + bytes([raw[i] ^ mask]) + raw[i + 1 :]
            text = b64encode(changed).decode()
            yield replace(honest, payload=replace(honest.payload, transaction=text))


def _bound(verdict):
    """What the trader is told to agree with the quote. How long it lives and what it costs
    the chain is held to other facts."""
    return {
        line.field: line.signed
        for line in verdict.lines
        if line.match is Match.EQUAL and line.field not in ("Lifetime", "Network fee")
    }


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
def test_a_changed_byte_is_refused_or_changes_nothing_of_worth(name, step):
    honest = HONEST[name]
    before = _bound(_judged(honest))
    for one in _flipped(honest, step):
        verdict = _judged(one)
        assert verdict.refused or _bound(verdict) == before


@pytest.mark.parametrize(("left", "refused"), [(20, False), (19, True)])
def test_a_blockhash_has_to_live_a_little_longer(left, refused):
    honest = HONEST["sol"]
    world = World(honest.world.simulation, blocks_left=left)
    verdict = judged(honest.payload, honest.promise, POLICY, world)
    assert ("BLOCKHASH_OLD" in codes(verdict)) is refused


def test_an_end_of_an_allowance_moves_no_token():
    honest = HONEST["end an allowance"]
    assert _judged(honest).title == "An approval of nothing: the allowance ends"
    world = World(changes((str(ME), SOL, -5_000), (str(ME), USDC, -1)))
    moving = _judged(replace(honest, world=world))
    assert "SIMULATION_MOVES_OTHERS" in codes(moving)
    assert "SIMULATION_TAKES_MORE" in codes(moving)
