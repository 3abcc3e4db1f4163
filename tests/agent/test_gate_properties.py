"""What the gate promises for every number, address, calldata and order of steps."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.gate_world import (
    ALICE,
    LEAST,
    POLICY,
    PROMISE,
    ROUTER,
    SECONDS,
    SELL,
    USDC,
    WETH,
    codes,
    judged,
)
from agent.honest import HONEST, SOON
from sampling import examples
from swapdesk.agent.gate.memory import Signed
from swapdesk.agent.shapes.reading import read_payload
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata import venues
from swapdesk.wallet.payload import ChainStep

UINT256 = st.integers(0, (1 << 256) - 1)
ADDRESS = st.binary(min_size=20, max_size=20).map(lambda raw: checksummed("0x" + raw.hex()))


def near(number: int, width: int = 3):
    """Numbers around a bound, and any others."""
    return st.one_of(st.integers(number - width, number + width), UINT256)


def refused(name: str, **message) -> bool:
    honest = HONEST[name]
    document = {
        **honest.payload.document,
        "message": {**honest.payload.document["message"], **message},
    }
    payload = replace(honest.payload, document=document)
    return judged(payload, honest.promise, world=honest.world).refused


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
    honest = HONEST["swapExactTokensForTokens"]
    payload = replace(honest.payload, data="0x" + data.hex(), value=value)
    assert judged(payload, honest.promise, world=honest.world).refused


@settings(max_examples=examples(100), deadline=None)
@given(near(SELL), near(LEAST), ADDRESS | st.just(ALICE), near(SECONDS + 30))
def test_a_swap_passes_exactly_within_the_promise(sold, least, to, deadline):
    honest = HONEST["swapExactTokensForTokens"]
    path = (USDC.contract, WETH.contract)
    data = venues.SWAP_TOKENS.call(sold, least, path, to, deadline)
    payload = replace(honest.payload, to=ROUTER, data="0x" + data.hex())
    inside = (
        sold <= SELL
        and least >= LEAST
        and to == ALICE
        and SECONDS + 30 <= deadline <= SECONDS + 86_400
    )
    said = judged(payload, honest.promise, world=honest.world).refused
    assert said is not inside


STEPS = st.lists(
    st.tuples(st.integers(-1, 9), st.sampled_from([1, 2, 8, 9]), st.booleans(), st.integers(1, 4)),
    max_size=14,
)


@settings(max_examples=examples(60), deadline=None)
@given(STEPS)
def test_whatever_a_service_asks_for_a_chain_goes_forward_and_ends(asked):
    honest = HONEST["Permit"]
    memory: tuple[Signed, ...] = ()
    for step, total, complete, variant in asked:
        document = {
            **honest.payload.document,
            "message": {**honest.payload.document["message"], "deadline": SOON + variant},
        }
        place = ChainStep("chain", step, total, complete, chained=True)
        payload = replace(honest.payload, document=document, step=place)
        if judged(payload, honest.promise, world=honest.world, memory=memory).refused:
            continue
        claim = read_payload(payload, honest.promise)
        memory += (
            Signed(
                claim.content,
                claim.act,
                PROMISE.quote_id,
                POLICY.chain_id,
                ALICE,
                USDC.contract,
                claim.contract,
                "chain",
                step,
                total,
                complete,
            ),
        )
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
    honest = HONEST["Permit"]
    for document in (raw, {"types": raw, "primaryType": "P", "domain": raw, "message": raw}):
        verdict = judged(replace(honest.payload, document=document), honest.promise)
        assert verdict.refused
        assert all(code.isupper() for code in codes(verdict))
