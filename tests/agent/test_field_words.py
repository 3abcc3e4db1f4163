"""What is signed in a field and what was promised for it, without a verdict."""

import pytest
from msgspec.structs import replace

from agent.gate_world import BOB, POLICY, PROMISE, WETH, World
from agent.honest import HONEST
from swapdesk.agent.gate.case import Case
from swapdesk.agent.gate.field_words import FIELD_WORDS, of_no_rule, unbound
from swapdesk.agent.gate.verdict import BUNDLE_RULES, RULES, WITHDRAWAL_RULES, words_of
from swapdesk.agent.shapes.claim import Act, ClaimField, Meaning
from swapdesk.agent.shapes.reading import read_payload
from swapdesk.chain.addresses.display import grouped


def case_of(name: str) -> Case:
    honest = HONEST[name]
    claim = read_payload(honest.payload, honest.promise)
    facts = (honest.world or World()).facts(claim, honest.promise, POLICY)
    return Case(claim, honest.payload.purpose, None, honest.promise, POLICY, facts)


@pytest.mark.parametrize(
    ("act", "rules"),
    [(Act.SWAP, RULES), (Act.BUNDLE, BUNDLE_RULES), (Act.WITHDRAW, WITHDRAWAL_RULES)],
)
def test_what_a_rule_binds_is_told_beside_its_promise(act, rules):
    bound = frozenset().union(*(rule.binds for rule in rules))
    assert bound
    assert bound <= words_of(act).keys()


@pytest.mark.parametrize("name", HONEST)
def test_what_was_promised_is_told_of_every_field_of_an_honest_payload(name):
    case = case_of(name)
    for field in case.claim.fields:
        signed, promised = words_of(case.claim.act).get(field.meaning, unbound)(case, field)
        assert signed
        assert promised


@pytest.mark.parametrize(
    ("meaning", "promised"),
    [
        (Meaning.OWNER, f"your account {grouped(PROMISE.account)}"),
        (Meaning.RECEIVER, grouped(BOB)),
        (Meaning.COUNTERPARTY, 'a maker of the provider "{fa}"'),
    ],
)
def test_who_was_promised_is_named(meaning, promised):
    case = case_of("Permit")
    case = replace(case, promise=replace(case.promise, recipient=BOB, venue="{fa}"))
    field = ClaimField("path", "Label", meaning, BOB)
    assert FIELD_WORDS[meaning](case, field) == (grouped(BOB), promised)


def test_units_of_another_token_are_not_told_in_the_promised_one():
    case = case_of("Permit")
    (field,) = case.claim.of(Meaning.ALLOWED_UNITS)
    promised = "1,000 USDC"
    assert FIELD_WORDS[Meaning.ALLOWED_UNITS](case, field) == (promised, promised)
    (allowed,) = case.claim.allowed
    claim = replace(case.claim, allowed=(replace(allowed, token=WETH.contract),))
    other = replace(case, claim=claim)
    assert FIELD_WORDS[Meaning.ALLOWED_UNITS](other, field) == (
        "1,000,000,000 base units",
        promised,
    )


@pytest.mark.parametrize(
    ("meaning", "words"),
    [
        (Meaning.PROOF, "checked by the chain"),
        (Meaning.ROUTE, "passed on the way"),
        (Meaning.FEE_PART, "counted in the network fee"),
        (Meaning.TAG, "a label; moves nothing"),
        (Meaning.UNKNOWN, "not in the quote"),
    ],
)
def test_a_field_of_no_rule_says_what_it_is(meaning, words):
    field = ClaimField("x", "x", meaning, BOB)
    case = case_of("Permit")
    assert of_no_rule(case, field) == words
    assert unbound(case, field) == (grouped(BOB), words)
    unquoted = replace(case, promise=replace(PROMISE, quote_id=None, venue=None))
    confirmed = "not in what you confirmed" if meaning is Meaning.UNKNOWN else words
    assert of_no_rule(unquoted, field) == confirmed
