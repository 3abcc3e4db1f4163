"""Who gets what is bought (checklist 15 to 18)."""

from __future__ import annotations

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses, warns
from swapdesk.agent.shapes.claim import Act
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.chain.addresses import evm, sol
from swapdesk.chain.addresses.display import looks_like
from swapdesk.chain.addresses.kind import AddressProblem
from swapdesk.wallet.promise import Purpose


def _crosses(case: Case) -> bool:
    return case.promise.chain_out != case.promise.chain


@refuses("RECIPIENT_DIFFERS", Meaning.RECEIVER)
def receiver_is_the_confirmed_one(case: Case) -> Objections:
    claim = case.claim
    receivers = list(claim.texts(Meaning.RECEIVER))
    if claim.act in (Act.ORDER, Act.SWAP) and not receivers:
        yield Objection("It does not say who gets what is bought.")
    for field, receiver in receivers:
        if receiver != case.promise.recipient:
            yield Objection("Somebody else gets what is bought.", field)


@refuses("RECIPIENT_UNSAFE", Meaning.RECEIVER, Meaning.PAYEE)
def receiver_is_an_address_of_somebody(case: Case) -> Objections:
    read = sol.read if case.claim.solana else evm.read
    for meaning in (Meaning.RECEIVER, Meaning.PAYEE):
        for field, receiver in case.claim.texts(meaning):
            try:
                read(receiver)
            except (AddressProblem, ValueError):
                yield Objection("Nobody can use what is sent to this address.", field)


@refuses("RECIPIENT_IS_CONTRACT", Meaning.RECEIVER, Meaning.PAYEE)
def receiver_is_no_token_and_no_venue(case: Case) -> Objections:
    promise = case.promise
    taboo = {promise.sell.contract, promise.buy.contract, case.claim.contract}
    taboo |= {one.address for one in case.policy.venues}
    for meaning in (Meaning.RECEIVER, Meaning.PAYEE):
        for field, receiver in case.claim.texts(meaning):
            if receiver in taboo:
                yield Objection("This is a contract that keeps what it is sent.", field)


@refuses("DESTINATION_DIFFERS", Meaning.DESTINATION)
def chain_out_is_the_confirmed_one(case: Case) -> Objections:
    promise = case.promise
    stated = list(case.claim.numbers(Meaning.DESTINATION))
    for field, chain_id in stated:
        if promise.chain_out_id is None or chain_id != promise.chain_out_id:
            yield Objection("It is paid out on another chain.", field)
    if case.claim.act in (Act.ORDER, Act.SWAP) and not stated and _crosses(case):
        yield Objection("It pays out on the chain it is paid on; you confirmed another.")


@warns("RECIPIENT_HAS_CODE", Meaning.RECEIVER, Meaning.PAYEE)
def receiver_that_is_a_contract_is_told(case: Case) -> Objections:
    """A contract may exist on one chain only, and keep for ever what it gets on another."""
    if case.claim.solana or case.purpose is Purpose.FUND:
        return
    for meaning in (Meaning.RECEIVER, Meaning.PAYEE):
        for field, receiver in case.claim.texts(meaning):
            code = case.facts.code.get(receiver)
            if code is None:
                yield Objection("Whether the recipient is a contract could not be read.", field)
            elif code and _crosses(case):
                yield Objection(
                    "The recipient is a contract here. It may not exist on the other chain.", field
                )
            elif code:
                yield Objection("The recipient is a contract.", field)


@warns("RECIPIENT_LOOKS_LIKE", Meaning.RECEIVER)
def receiver_that_resembles_another_is_told(case: Case) -> Objections:
    for field, receiver in case.claim.texts(Meaning.RECEIVER):
        if receiver not in case.policy.known and any(
            looks_like(receiver, known) for known in sorted(case.policy.known)
        ):
            yield Objection(
                "The recipient begins and ends like an address you paid before, "
                "but is another one. Compare every group.",
                field,
            )


RULES = (
    receiver_is_the_confirmed_one,
    receiver_is_an_address_of_somebody,
    receiver_is_no_token_and_no_venue,
    chain_out_is_the_confirmed_one,
    receiver_that_is_a_contract_is_told,
    receiver_that_resembles_another_is_told,
)
