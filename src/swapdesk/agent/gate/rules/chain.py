"""One chain: that of the payload, the promise, the key and the node (checklist 2)."""

from __future__ import annotations

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses
from swapdesk.agent.shapes.claim import ClaimField
from swapdesk.agent.shapes.meaning import Meaning


def _field(case: Case) -> ClaimField | None:
    return next(case.claim.of(Meaning.CHAIN), None)


@refuses("CHAIN_ID_MISSING", Meaning.CHAIN)
def payload_names_its_chain(case: Case) -> Objections:
    """Without a chain id a signature is good on every chain."""
    if not case.claim.solana and case.claim.chain_id is None:
        yield Objection("It names no chain, so it would be valid on every one.")


@refuses("CHAIN_ID_DIFFERS", Meaning.CHAIN)
def payload_is_for_the_promised_chain(case: Case) -> Objections:
    claim, promised = case.claim, case.promise.chain_id
    if claim.solana:
        if promised is not None:
            yield Objection("It is for Solana, and the swap is paid on another chain.")
    elif promised is None:
        yield Objection("It is for an EVM chain, and the swap is paid on another one.")
    elif claim.chain_id is not None and claim.chain_id != promised:
        yield Objection(
            f"It is for the chain with id {claim.chain_id}; you confirmed {promised}.",
            _field(case),
        )


@refuses("KEY_CHAIN_DIFFERS", Meaning.CHAIN)
def key_is_of_the_promised_chain(case: Case) -> Objections:
    if case.policy.chain_id != case.promise.chain_id:
        yield Objection(
            "The key belongs to another chain than the one that was confirmed.", _field(case)
        )


@refuses("NODE_CHAIN_DIFFERS", Meaning.CHAIN)
def node_is_on_the_promised_chain(case: Case) -> Objections:
    if case.claim.solana:
        return
    if case.facts.chain_id is None:
        yield Objection("The node did not say which chain it is on.", _field(case))
    elif case.facts.chain_id != case.promise.chain_id:
        yield Objection(f"The node is on the chain with id {case.facts.chain_id}.", _field(case))


@refuses("GENESIS_DIFFERS", Meaning.CHAIN)
def node_has_the_profiles_genesis(case: Case) -> Objections:
    if case.facts.genesis_hash is None:
        yield Objection("The node did not give the first block of its chain.", _field(case))
    elif not case.policy.genesis_hash or case.facts.genesis_hash != case.policy.genesis_hash:
        yield Objection(
            "The node's chain begins with another block than the profile's.", _field(case)
        )


RULES = (
    payload_names_its_chain,
    payload_is_for_the_promised_chain,
    key_is_of_the_promised_chain,
    node_is_on_the_promised_chain,
    node_has_the_profiles_genesis,
)
