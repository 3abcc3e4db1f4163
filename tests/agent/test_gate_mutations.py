"""What is honest passes, with every field shown; whatever is made of it dishonestly does not: more
than 1,400 payloads on EVM chains, and 600 on Solana."""

from __future__ import annotations

from base64 import b64decode, b64encode

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agent import honest_solana as solana
from agent.gate_world import (
    ALICE,
    BOB,
    LEAST,
    PROMISE,
    SECONDS,
    SELL,
    SETTLEMENT,
    TRAP,
    TRUSTED_TRAP,
    USDC,
    WETH,
    World,
    changes,
    codes,
)
from agent.honest import DOCUMENTS, HONEST, SOON
from agent.honest_solana import DEPOSIT, ME, PAY_SOL, PAY_TOKENS, SOL, STRANGE, UNITS
from agent.mutations import everything, second_takings
from rows import each_row
from sampling import examples
from swapdesk.agent.gate.case import PastSignature
from swapdesk.agent.gate.field_words import FIELD_WORDS, of_no_rule, unbound
from swapdesk.agent.gate.verdict import BUNDLE_RULES, RULES, WITHDRAWAL_RULES, words_of
from swapdesk.agent.shapes.claim import ClaimField
from swapdesk.agent.typed_data import read_document
from swapdesk.chain.addresses.display import grouped
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata import erc20, permit2, venues
from swapdesk.chain.deployments import PERMIT2
from swapdesk.chain.solana import ComputePrice, Memo
from swapdesk.wallet.answers import Match, Severity
from swapdesk.wallet.promise import ChainStep, TypedDataPayload

SAMPLE = 7
ALL = HONEST | {f"solana {name}": one for name, one in solana.HONEST.items()}


@each_row("name", ALL)
def test_an_honest_payload_is_not_refused(name):
    verdict = ALL[name].verdict()
    assert [one for one in verdict.findings if one.severity is Severity.REFUSE] == []
    assert (verdict.refused, verdict.phrase) == (False, None)
    assert all(line.match is not Match.DIFFERS for line in verdict.lines)
    labels = [line.field for line in verdict.lines]
    assert len(set(labels)) == len(labels)
    if name in DOCUMENTS:
        leaves = list(read_document(HONEST[name].payload.document).leaves())
        assert len(labels) == len(leaves), "every leaf has its line"


def _accepted(mutations):
    """Those that the gate would sign without a word."""
    return [name for name, honest in mutations if not honest.refused]


def test_a_sample_of_dishonest_payloads_is_refused():
    assert _accepted(everything()[::SAMPLE]) == []


@pytest.mark.long
def test_every_dishonest_payload_is_refused():
    mutations = everything()
    assert len({name for name, _ in mutations}) >= 1_400
    assert _accepted(mutations) == []


def test_no_dishonest_transaction_on_solana_is_let_through():
    tried = list(solana.dishonest())
    assert len(tried) >= 600
    assert _accepted(tried) == []


def test_a_field_that_was_refused_is_marked():
    marked = 0
    for _, honest in everything()[::101]:
        verdict = honest.verdict()
        fields = {one.field for one in verdict.findings if one.severity == "refuse"} - {None}
        for line in verdict.lines:
            assert (line.match is Match.DIFFERS) == (line.field in fields)
            marked += line.match is Match.DIFFERS
    assert marked


def test_what_was_confirmed_is_not_let_out_twice():
    """Of all shapes and their mixtures, whatever their keys, nonces and contracts."""
    asked = 0
    for name, honest, memory in second_takings():
        alone = replace(honest, nonce=2)
        assert not alone.refused, name
        assert "ALLOWANCE_SUM" in alone.after(*memory).codes(), name
        assert alone.after(*memory).refused, name
        asked += 1
    assert asked > 200


@each_row(
    ("instructions", "code"),
    [
        ([*PAY_TOKENS, solana.tokens(ME, DEPOSIT, UNITS, decimals=7)], "SOLANA_DECIMALS"),
        ([*PAY_TOKENS, STRANGE["delegate"]], "SOLANA_INSTRUCTION_UNKNOWN"),
        ([*PAY_TOKENS, STRANGE["another program"]], "SOLANA_INSTRUCTION_UNKNOWN"),
        ([ComputePrice(1).build(), *PAY_TOKENS, STRANGE["price twice"]], "SOLANA_REPEATED"),
        ([*PAY_TOKENS, STRANGE["dear price"]], "GAS_ABOVE"),
        ([*PAY_TOKENS, Memo("x" * 900).build()], "SOLANA_UNREADABLE"),
        # It never expires.
        ([STRANGE["durable nonce"], *PAY_SOL], "SOLANA_DURABLE_NONCE"),
    ],
)
def test_what_is_wrong_with_a_transaction_is_named(instructions, code):
    honest = solana.HONEST["tokens"]
    assert code in honest.sent(transaction=solana.serialized(instructions)).codes()


def _flipped(honest, step):
    """The transaction with one byte changed, every ``step`` bytes."""
    raw = b64decode(honest.payload.transaction)
    for i in range(0, len(raw), step):
        for mask in (0x01, 0x80, 0xFF):
            changed = raw[:i] + bytes([raw[i] ^ mask]) + raw[i + 1 :]
            yield honest.sent(transaction=b64encode(changed).decode())


def _bound(verdict):
    """What the trader is told to agree with the quote. How long it lives and what it costs
    the chain is held to other facts."""
    return {
        line.field: line.signed
        for line in verdict.lines
        if line.match is Match.EQUAL and line.field not in ("Lifetime", "Network fee")
    }


@pytest.mark.parametrize("name", solana.HONEST)
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
def test_a_changed_byte_is_refused_or_changes_nothing_of_worth(name, step):
    honest = solana.HONEST[name]
    before = _bound(honest.verdict())
    for one in _flipped(honest, step):
        verdict = one.verdict()
        assert verdict.refused or _bound(verdict) == before


def test_an_end_of_an_allowance_moves_no_token():
    honest = solana.HONEST["end an allowance"]
    assert honest.verdict().title == "An approval of nothing: the allowance ends"
    world = World(changes((str(ME), SOL, -5_000), (str(ME), solana.USDC, -1)))
    moving = replace(honest, world=world).codes()
    assert {"SIMULATION_MOVES_OTHERS", "SIMULATION_TAKES_MORE"} <= moving


@each_row(
    ("act", "rules"),
    [("swap", RULES), ("bundle", BUNDLE_RULES), ("withdraw", WITHDRAWAL_RULES)],
)
def test_what_a_rule_binds_is_told_beside_its_promise(act, rules):
    bound = frozenset().union(*(rule.binds for rule in rules))
    assert bound
    assert bound <= words_of(act).keys()


@each_row("name", HONEST)
def test_what_was_promised_is_told_of_every_field_of_an_honest_payload(name):
    case = HONEST[name].case
    for field in case.claim.fields:
        signed, promised = words_of(case.claim.act).get(field.meaning, unbound)(case, field)
        assert signed
        assert promised


@each_row(
    ("meaning", "promised"),
    [
        ("owner", f"your account {grouped(PROMISE.account)}"),
        ("receiver", grouped(BOB)),
        ("counterparty", 'a maker of the provider "{fa}"'),
    ],
)
def test_who_was_promised_is_named(meaning, promised):
    case = HONEST["Permit"].case
    case = replace(case, promise=replace(case.promise, recipient=BOB, venue="{fa}"))
    field = ClaimField("path", "Label", meaning, BOB)
    assert FIELD_WORDS[meaning](case, field) == (grouped(BOB), promised)


def test_units_of_another_token_are_not_told_in_the_promised_one():
    case = HONEST["Permit"].case
    (field,) = case.claim.of("allowed units")
    promised = "1,000 USDC"
    assert FIELD_WORDS["allowed units"](case, field) == (promised, promised)
    (allowed,) = case.claim.allowed
    claim = replace(case.claim, allowed=(replace(allowed, token=WETH.contract),))
    other = replace(case, claim=claim)
    assert FIELD_WORDS["allowed units"](other, field) == (
        "1,000,000,000 base units",
        promised,
    )


@each_row(
    ("meaning", "words"),
    [
        ("proof", "checked by the chain"),
        ("route", "passed on the way"),
        ("fee part", "counted in the network fee"),
        ("tag", "a label; moves nothing"),
        ("unknown", "not in the quote"),
    ],
)
def test_a_field_of_no_rule_says_what_it_is(meaning, words):
    field = ClaimField("x", "x", meaning, BOB)
    case = HONEST["Permit"].case
    assert of_no_rule(case, field) == words
    assert unbound(case, field) == (grouped(BOB), words)
    unquoted = replace(case, promise=replace(PROMISE, quote_id=None, venue=None))
    confirmed = "not in what you confirmed" if meaning == "unknown" else words
    assert of_no_rule(unquoted, field) == confirmed


UINT256 = st.integers(0, (1 << 256) - 1)
ADDRESS = st.binary(min_size=20, max_size=20).map(lambda raw: checksummed("0x" + raw.hex()))


def near(number: int, width: int = 3):
    """Numbers around a bound, and any others."""
    return st.one_of(st.integers(number - width, number + width), UINT256)


def refused(name: str, **message) -> bool:
    return HONEST[name].message(**message).refused


@settings(max_examples=examples(150), deadline=None)
@given(near(SELL - 1_000_000), st.one_of(st.integers(0, 2_000_000), UINT256), near(LEAST))
@example(SELL, 0, LEAST)
@example(SELL, 1, LEAST)
@example((1 << 256) - 1, 1, LEAST)
def test_an_order_passes_exactly_when_no_more_leaves_and_no_less_arrives(sold, fee, least):
    inside = sold + fee <= SELL and least >= LEAST
    said = refused("Order", sellAmount=str(sold), feeAmount=str(fee), buyAmount=str(least))
    assert said is not inside


@settings(max_examples=examples(100), deadline=None)
@given(near(SELL), st.one_of(near(SECONDS + 30), near(SECONDS + 86_400)))
def test_a_permit_passes_exactly_within_amount_and_time(units, deadline):
    ends = SECONDS + 30 <= deadline <= SECONDS + 86_400
    # An allowance of nothing does no harm at any time.
    inside = units == 0 or (units <= SELL and ends)
    assert refused("Permit", value=str(units), deadline=str(deadline)) is not inside


@settings(max_examples=examples(60), deadline=None)
@given(ADDRESS, st.sampled_from(["owner", "sellToken", "buyToken", "receiver"]))
def test_no_other_address_stands_in_an_order(address, field):
    honest = HONEST["Order"].payload.document["message"][field]
    assert refused("Order", **{field: address}) is (address != honest)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.one_of(
        st.binary(max_size=300),
        st.binary(max_size=260).map(lambda tail: venues.SWAP_TOKENS.selector + tail),
    ),
    st.integers(0, 2),
)
def test_no_other_calldata_passes(data, value):
    assert HONEST["swapExactTokensForTokens"].call(data, value=value).refused


@settings(max_examples=examples(100), deadline=None)
@given(near(SELL), near(LEAST), ADDRESS | st.just(ALICE), near(SECONDS + 30))
def test_a_swap_passes_exactly_within_the_promise(sold, least, to, deadline):
    path = (USDC.contract, WETH.contract)
    data = venues.SWAP_TOKENS.call(sold, least, path, to, deadline)
    inside = (
        sold <= SELL
        and least >= LEAST
        and to == ALICE
        and SECONDS + 30 <= deadline <= SECONDS + 86_400
    )
    assert HONEST["swapExactTokensForTokens"].call(data).refused is not inside


STEPS = st.lists(
    st.tuples(st.integers(-1, 9), st.sampled_from([1, 2, 8, 9]), st.booleans(), st.integers(1, 4)),
    max_size=14,
)


@settings(max_examples=examples(60), deadline=None)
@given(STEPS)
def test_whatever_a_service_asks_for_a_chain_goes_forward_and_ends(asked):
    memory: tuple[PastSignature, ...] = ()
    for step, total, complete, variant in asked:
        place = ChainStep("chain", step, total, complete, chained=True)
        asking = HONEST["Permit"].message(deadline=SOON + variant).sent(step=place)
        if not asking.after(*memory).refused:
            memory += (asking.signed(),)
    different = list(dict.fromkeys((one.step, one.content) for one in memory))
    steps = [step for step, _ in different]
    assert steps == sorted(set(steps))
    assert len({content for _, content in different}) == len(different)
    assert len({one.total for one in memory}) <= 1
    assert all(0 <= one.step < one.total <= 8 for one in memory)
    ended = [i for i, one in enumerate(memory) if one.complete]
    if ended:
        after = memory[ended[0] :]
        assert len({(one.step, one.content) for one in after}) == 1 or all(
            any(one.content == earlier.content for earlier in memory[: ended[0] + 1])
            for one in after
        )


@settings(max_examples=examples(60), deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=8,
    )
)
def test_anything_at_all_is_judged_and_nothing_of_it_passes(raw):
    for document in (raw, {"types": raw, "primaryType": "P", "domain": raw, "message": raw}):
        verdict = HONEST["Permit"].sent(document=document).verdict()
        assert verdict.refused
        assert all(code.isupper() for code in codes(verdict))


SPENDERS = (SETTLEMENT, TRAP)
OFFERS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "Permit",
                "PermitSingle",
                "PermitTransferFrom",
                "PermitWitnessTransferFrom",
                "Order",
                "approve",
                "approve Permit2",
                "Permit2 approve",
            ]
        ),
        st.sampled_from(SPENDERS),
        st.sampled_from([SELL, SELL, SELL // 2, SELL // 3, 1]),
        st.integers(10, 14),
    ),
    max_size=12,
)


@settings(max_examples=examples(80), deadline=None)
@given(OFFERS)
@example([("PermitTransferFrom", SETTLEMENT, SELL, nonce) for nonce in range(10, 18)])
@example([("Permit", TRAP, SELL, 0), ("Order", SETTLEMENT, SELL, 10)])
@example([("approve Permit2", PERMIT2, SELL, 0), ("PermitSingle", SETTLEMENT, SELL, 0)])
def test_whatever_is_offered_no_more_can_be_taken_than_was_confirmed(offers):
    """Whichever of the contracts takes all that it may, and whichever keeps to the orders."""
    memory: tuple[PastSignature, ...] = ()
    granted: dict[str, dict[object, int]] = {one: {} for one in SPENDERS}
    ordered = 0
    for number, (name, spender, units, nonce) in enumerate(offers):
        offered, once = _offered(name, spender, units, nonce, number)
        offered = replace(offered, promise=PROMISE).holding(venues=TRUSTED_TRAP)
        verdict = offered.after(*memory).verdict()
        if verdict.refused:
            assert number, verdict.findings
            continue
        memory += (offered.signed(nonce=offered.nonce),)
        if name == "Order":
            ordered = max(ordered, units)
        elif name != "approve Permit2":
            key = number if once is None else once
            granted[spender][key] = max(units, granted[spender].get(key, 0))
    allowed = {one: sum(ways.values()) for one, ways in granted.items()}
    assert sum(allowed.values()) <= SELL
    assert max(allowed[SETTLEMENT], ordered) + allowed[TRAP] <= SELL


def _offered(name, spender, units, nonce, number):
    """A payload beside what makes it be executed once; None for nothing but itself."""
    honest = HONEST[name]
    if not isinstance(honest.payload, TypedDataPayload):
        data = {
            "approve": erc20.APPROVE.call(spender, units),
            "approve Permit2": erc20.APPROVE.call(PERMIT2, units),
            "Permit2 approve": permit2.APPROVE.call(USDC.contract, spender, units, SOON),
        }[name]
        return replace(honest.call(data), nonce=number), None
    changed = {
        "Permit": ({"message.spender": spender, "message.value": units}, "sequence"),
        "PermitSingle": (
            {"message.spender": spender, "message.details.amount": units},
            ("single", spender),
        ),
        "PermitTransferFrom": (
            {
                "message.spender": spender,
                "message.permitted.amount": units,
                "message.nonce": nonce,
            },
            nonce,
        ),
        "PermitWitnessTransferFrom": (
            {
                "message.spender": spender,
                "message.permitted.amount": units,
                "message.nonce": nonce,
                "message.witness.sellAmount": units,
                "message.witness.feeAmount": 0,
            },
            nonce,
        ),
        "Order": (
            {"message.sellAmount": units, "message.feeAmount": 0, "message.nonce": nonce},
            ("order", nonce),
        ),
    }[name]
    for path, value in changed[0].items():
        honest = honest.field(path, str(value))
    step = ChainStep(f"key {number}", 0, 1, complete=True, chained=False)
    return honest.sent(step=step), changed[1]
