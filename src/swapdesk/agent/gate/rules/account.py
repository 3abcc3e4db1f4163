"""Whose payload it is (checklist 5)."""

from __future__ import annotations

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses
from swapdesk.agent.shapes.meaning import Meaning


@refuses("ACCOUNT_DIFFERS", Meaning.OWNER, Meaning.FEE_PAYER)
def key_is_the_confirmed_account(case: Case) -> Objections:
    if case.policy.account != case.promise.account:
        yield Objection(
            "The key is of another account than the one that was confirmed.",
            next(case.claim.of(Meaning.OWNER, Meaning.FEE_PAYER), None),
        )


@refuses("OWNER_DIFFERS", Meaning.OWNER)
def owner_is_the_account(case: Case) -> Objections:
    for field, owner in case.claim.texts(Meaning.OWNER):
        if owner != case.policy.account:
            yield Objection("The owner is another account.", field)


@refuses("FEE_PAYER_DIFFERS", Meaning.FEE_PAYER)
def account_pays_the_fee(case: Case) -> Objections:
    """Whoever pays the fee signs first and can hold the transaction back."""
    payers = list(case.claim.texts(Meaning.FEE_PAYER))
    for field, payer in payers:
        if payer != case.policy.account:
            yield Objection("The fee is paid by another account.", field)
    if case.claim.solana and not payers:
        yield Objection("Nobody pays the fee.")


@refuses("COSIGNER_UNKNOWN", Meaning.COSIGNER)
def further_signers_are_the_venues_makers(case: Case) -> Objections:
    for field, signer in case.claim.texts(Meaning.COSIGNER):
        if (case.promise.venue or "", signer) not in case.policy.makers:
            yield Objection("Somebody else has to sign who is not the venue's maker.", field)
        elif signer not in case.claim.signed_first:
            yield Objection("The maker's signature is missing or wrong.", field)


@refuses("COUNTERPARTY_UNKNOWN", Meaning.COUNTERPARTY)
def counterparty_is_the_venues_maker(case: Case) -> Objections:
    for field, party in case.claim.texts(Meaning.COUNTERPARTY):
        if (case.promise.venue or "", party) not in case.policy.makers:
            yield Objection("The other side of the swap is not the venue's maker.", field)


@refuses("RENT_FOR_STRANGER", Meaning.RENT_PAYEE, Meaning.RENT_TOKEN)
def rent_is_paid_for_the_swap_alone(case: Case) -> Objections:
    """Opening a token account costs its payer a rent that its owner can take out. A maker has one
    of its own, or pays for it."""
    promise = case.promise
    owners = {promise.account, promise.recipient}
    if promise.deposit is not None:
        owners.add(promise.deposit.address)
    for field, owner in case.claim.texts(Meaning.RENT_PAYEE):
        if owner not in owners:
            yield Objection("An account is opened at your cost for somebody else.", field)
    for field, token in case.claim.texts(Meaning.RENT_TOKEN):
        if token not in (promise.sell.contract, promise.buy.contract):
            yield Objection("An account is opened at your cost for another token.", field)


RULES = (
    key_is_the_confirmed_account,
    owner_is_the_account,
    account_pays_the_fee,
    further_signers_are_the_venues_makers,
    counterparty_is_the_venues_maker,
    rent_is_paid_for_the_swap_alone,
)
