"""What the gate promises for every number, address, calldata and order of steps."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.gate_world import (
    ALICE,
    LEAST,
    POLICY,
    PROMISE,
    ROUTER,
    SECONDS,
    SELL,
    SETTLEMENT,
    TRAP,
    USDC,
    WETH,
    codes,
    judged,
    remembered,
)
from agent.honest import HONEST, SOON
from agent.mutations import _with as with_value
from sampling import examples
from swapdesk.agent.gate.case import PastSignature
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata import erc20, permit2, venues
from swapdesk.chain.deployments import PERMIT2
from swapdesk.wallet.payload import ChainStep, TypedDataPayload

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
    memory: tuple[PastSignature, ...] = ()
    for step, total, complete, variant in asked:
        document = {
            **honest.payload.document,
            "message": {**honest.payload.document["message"], "deadline": SOON + variant},
        }
        place = ChainStep("chain", step, total, complete, chained=True)
        payload = replace(honest.payload, document=document, step=place)
        if judged(payload, honest.promise, world=honest.world, memory=memory).refused:
            continue
        memory += (remembered(payload),)
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
    policy = replace(POLICY, spenders=frozenset({TRAP}))
    granted: dict[str, dict[object, int]] = {one: {} for one in SPENDERS}
    ordered = 0
    for number, (name, spender, units, nonce) in enumerate(offers):
        payload, once = _offered(name, spender, units, nonce, f"key {number}")
        typed = isinstance(payload, TypedDataPayload)
        at = None if typed else number
        world = HONEST[name].world
        verdict = judged(payload, PROMISE, policy, world, memory, nonce=at)
        if verdict.refused:
            assert number, verdict.findings
            continue
        memory += (remembered(payload, nonce=at),)
        if name == "Order":
            ordered = max(ordered, units)
        elif name != "approve Permit2":
            key = number if once is None else once
            granted[spender][key] = max(units, granted[spender].get(key, 0))
    allowed = {one: sum(ways.values()) for one, ways in granted.items()}
    assert sum(allowed.values()) <= SELL
    assert max(allowed[SETTLEMENT], ordered) + allowed[TRAP] <= SELL


def _offered(name, spender, units, nonce, key):
    """A payload beside what makes it be executed once; None for nothing but itself."""
    honest = HONEST[name].payload
    if not isinstance(honest, TypedDataPayload):
        data = {
            "approve": erc20.APPROVE.call(spender, units),
            "approve Permit2": erc20.APPROVE.call(PERMIT2, units),
            "Permit2 approve": permit2.APPROVE.call(USDC.contract, spender, units, SOON),
        }[name]
        return replace(honest, data="0x" + data.hex()), None
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
    document = honest.document
    for path, value in changed[0].items():
        document = with_value(document, path, str(value))
    step = ChainStep(key, 0, 1, complete=True, chained=False)
    return replace(honest, document=document, step=step), changed[1]
