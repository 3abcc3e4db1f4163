"""Rules on the parties of a payload.

The parties are the account that the payload belongs to (checklist 5), the contract that checks or
executes the payload, with its kind (checklist 3, 4, 12), the spender, who may take the token
afterwards (checklist 6), and the recipient of what is bought (checklist 15 to 18).
"""

from __future__ import annotations

from swapdesk.agent.gate.case import Case, Objection, Objections, read_of, refuses, warns
from swapdesk.agent.shapes.claim import Act, Target
from swapdesk.chain.addresses import evm, sol
from swapdesk.chain.addresses.display import looks_like
from swapdesk.chain.addresses.kind import AddressProblem
from swapdesk.chain.calldata import erc20
from swapdesk.chain.deployments import PERMIT2, SANDBOX_ACCOUNT_FACTORY
from swapdesk.wallet.promise import Purpose


@refuses("ACCOUNT_DIFFERS", "owner", "fee payer")
def key_is_the_confirmed_account(case: Case) -> Objections:
    if case.policy.account != case.promise.account:
        yield Objection(
            "The key is of another account than the one that was confirmed.",
            case.claim.first("owner", "fee payer"),
        )


@refuses("OWNER_DIFFERS", "owner")
def owner_is_the_account(case: Case) -> Objections:
    for field, owner in case.claim.texts("owner"):
        if owner != case.policy.account:
            yield Objection("The owner is another account.", field)


@refuses("FEE_PAYER_DIFFERS", "fee payer")
def account_pays_the_fee(case: Case) -> Objections:
    """Yields an objection if another account pays the transaction's fee: that account could hold
    the transaction back."""
    payers = list(case.claim.texts("fee payer"))
    for field, payer in payers:
        if payer != case.policy.account:
            yield Objection("The fee is paid by another account.", field)
    if case.claim.solana and not payers:
        yield Objection("Nobody pays the fee.")


@refuses("COSIGNER_UNKNOWN", "co-signer")
def further_signers_are_the_venues_makers(case: Case) -> Objections:
    for field, signer in case.claim.texts("co-signer"):
        if (case.promise.venue or "", signer) not in case.policy.makers:
            yield Objection("Somebody else has to sign who is not the venue's maker.", field)
        elif signer not in case.claim.signed_first:
            yield Objection("The maker's signature is missing or wrong.", field)


@refuses("COUNTERPARTY_UNKNOWN", "counterparty")
def counterparty_is_the_venues_maker(case: Case) -> Objections:
    for field, party in case.claim.texts("counterparty"):
        if (case.promise.venue or "", party) not in case.policy.makers:
            yield Objection("The other side of the swap is not the venue's maker.", field)


@refuses("RENT_FOR_STRANGER", "rent payee", "rent token")
def rent_is_paid_for_the_swap_alone(case: Case) -> Objections:
    """Yields an objection if the swap pays the rent of a token account for a stranger, or for a
    token that is neither sold nor bought. The owner of such an account could withdraw the rent."""
    promise = case.promise
    owners = {promise.account, promise.recipient}
    if promise.deposit is not None:
        owners.add(promise.deposit.address)
    for field, owner in case.claim.texts("rent payee"):
        if owner not in owners:
            yield Objection("An account is opened at your cost for somebody else.", field)
    for field, token in case.claim.texts("rent token"):
        if token not in (promise.sell.contract, promise.buy.contract):
            yield Objection("An account is opened at your cost for another token.", field)


ACCOUNT_RULES = (
    key_is_the_confirmed_account,
    owner_is_the_account,
    account_pays_the_fee,
    further_signers_are_the_venues_makers,
    counterparty_is_the_venues_maker,
    rent_is_paid_for_the_swap_alone,
)


DELEGATED = bytes.fromhex("ef0100")
"""The first bytes of the code of an account that still has a key, because it only delegates to a
contract (EIP-7702)."""

ACTS: dict[Purpose, frozenset[Act]] = {
    Purpose.APPROVE: frozenset({"allow"}),
    Purpose.REVOKE: frozenset({"allow"}),
    Purpose.ORDER: frozenset({"order"}),
    Purpose.SWAP: frozenset({"swap"}),
    Purpose.DEPOSIT: frozenset({"pay"}),
    Purpose.CANCEL: frozenset({"nothing"}),
    Purpose.FUND: frozenset({"pay"}),
    Purpose.BUNDLE: frozenset({"bundle"}),
    Purpose.DEPLOY: frozenset({"deploy"}),
    Purpose.WITHDRAW: frozenset({"withdraw"}),
    Purpose.CALL: frozenset({"pay"}),
}


def is_contract(code: bytes | None) -> bool:
    """True if ``code`` is that of a contract. An EIP-7702 account does not count as a contract: it
    only delegates to one, and somebody has its private key."""
    return bool(code) and not (code or b"").startswith(DELEGATED)


@refuses("SHAPE_UNKNOWN")
def shape_is_known(case: Case) -> Objections:
    if case.claim.act == "unknown":
        yield Objection("What this document does is not known here. It is never signed blindly.")


@refuses("PURPOSE_DIFFERS", "method")
def act_is_what_was_asked_for(case: Case) -> Objections:
    claim = case.claim
    if claim.act != "unknown" and claim.act not in ACTS[case.purpose]:
        yield Objection(
            f"It is {claim.title[:1].lower()}{claim.title[1:]}, not what was asked for.",
            claim.first("method"),
        )


@refuses("CONTRACT_UNKNOWN", "contract")
def contract_is_the_shapes_own(case: Case) -> Objections:
    claim = case.claim
    if claim.solana or claim.target == "payee":
        return
    if claim.contract is None:
        yield Objection("It names no contract.")
        return
    own: dict[Target, set[str | None]] = {
        "token": {case.promise.sell.contract},
        "permit2": {PERMIT2},
        "venue": {
            contract.address
            for contract in case.policy.contracts_of(case.promise.venue)
            if contract.role in claim.roles
        },
        "factory": {SANDBOX_ACCOUNT_FACTORY if case.policy.smart_accounts else None},
        "any": {claim.contract},
    }
    if claim.contract not in own[claim.target]:
        words = {
            "token": "The contract is not the token that was confirmed.",
            "permit2": "The contract is not Permit2.",
            "factory": "It is not the factory of smart accounts of this profile.",
        }.get(claim.target, "The contract is none of the venue's for this.")
        yield Objection(words, claim.first("contract"))


@refuses("CONTRACT_WITHOUT_CODE", "contract")
def contract_has_code(case: Case) -> Objections:
    claim = case.claim
    if claim.contract is None:
        return
    field = claim.first("contract")
    code = case.facts.code.get(claim.contract)
    if code is None:
        yield Objection("Whether the contract exists could not be read.", field)
    elif not is_contract(code):
        yield Objection("There is no contract at this address.", field)


@refuses("DOMAIN_DIFFERS", "domain")
def domain_is_the_contracts_own(case: Case) -> Objections:
    """Yields an objection if the document's domain is not the one that the contract states."""
    claim = case.claim
    if not claim.typed or claim.contract is None or claim.act == "unknown":
        return
    field = claim.first("domain")
    own = case.facts.answers.get(read_of(claim.contract, erc20.DOMAIN_SEPARATOR))
    if own is None:
        yield Objection("The contract's own domain could not be read.", field)
    elif own != claim.domain_separator:
        yield Objection("The contract would not take this: its domain is another.", field)


CONTRACT_RULES = (
    shape_is_known,
    act_is_what_was_asked_for,
    contract_is_the_shapes_own,
    contract_has_code,
    domain_is_the_contracts_own,
)


@refuses("SPENDER_UNKNOWN", "spender")
def spender_is_the_venues(case: Case) -> Objections:
    """Yields an objection if the spender is not a contract of the provider. An approval of 0 may
    name any spender."""
    claim = case.claim
    if claim.revokes:
        return
    spenders = list(claim.texts("spender"))
    if claim.act == "allow" and not spenders:
        yield Objection("Nobody is named who may take the token.")
    allowed = {contract.address for contract in case.policy.contracts_of(case.promise.venue)}
    if claim.target == "token":
        # Permit2 takes nothing without a further signature of the owner.
        allowed.add(PERMIT2)
    for field, spender in spenders:
        if spender not in allowed:
            yield Objection("The spender is none of the venue's contracts.", field)


@refuses("SPENDER_WITHOUT_CODE", "spender")
def spender_has_code(case: Case) -> Objections:
    if case.claim.revokes:
        return
    for field, spender in case.claim.texts("spender"):
        code = case.facts.code.get(spender)
        if code is None:
            yield Objection("Whether the spender is a contract could not be read.", field)
        elif not is_contract(code):
            yield Objection("The spender is no contract: somebody holds its key.", field)


SPENDER_RULES = (spender_is_the_venues, spender_has_code)


def _crosses(case: Case) -> bool:
    return case.promise.chain_out != case.promise.chain


@refuses("RECIPIENT_DIFFERS", "receiver")
def receiver_is_the_confirmed_one(case: Case) -> Objections:
    claim = case.claim
    receivers = list(claim.texts("receiver"))
    if claim.act in ("order", "swap") and not receivers:
        yield Objection("It does not say who gets what is bought.")
    for field, receiver in receivers:
        if receiver != case.promise.recipient:
            yield Objection("Somebody else gets what is bought.", field)


@refuses("RECIPIENT_UNSAFE", "receiver", "payee")
def receiver_is_an_address_of_somebody(case: Case) -> Objections:
    read = sol.read if case.claim.solana else evm.read
    for meaning in ("receiver", "payee"):
        for field, receiver in case.claim.texts(meaning):
            try:
                read(receiver)
            except (AddressProblem, ValueError):
                yield Objection("Nobody can use what is sent to this address.", field)


@refuses("RECIPIENT_IS_CONTRACT", "receiver", "payee")
def receiver_is_no_token_and_no_venue(case: Case) -> Objections:
    promise = case.promise
    taboo = {promise.sell.contract, promise.buy.contract, case.claim.contract}
    taboo |= {venue.address for venue in case.policy.venues}
    for meaning in ("receiver", "payee"):
        for field, receiver in case.claim.texts(meaning):
            if receiver in taboo:
                yield Objection("This is a contract that keeps what it is sent.", field)


@refuses("DESTINATION_DIFFERS", "destination")
def chain_out_is_the_confirmed_one(case: Case) -> Objections:
    promise = case.promise
    stated = list(case.claim.numbers("destination"))
    for field, chain_id in stated:
        if promise.chain_out_id is None or chain_id != promise.chain_out_id:
            yield Objection("It is paid out on another chain.", field)
    if case.claim.act in ("order", "swap") and not stated and _crosses(case):
        yield Objection("It pays out on the chain it is paid on; you confirmed another.")


@warns("RECIPIENT_HAS_CODE", "receiver", "payee")
def receiver_that_is_a_contract_is_told(case: Case) -> Objections:
    """Yields a warning if the recipient is a contract. The contract may exist on one chain only,
    and money sent to the same address on another chain is lost."""
    if case.claim.solana or case.purpose is Purpose.FUND:
        return
    for meaning in ("receiver", "payee"):
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


@warns("RECIPIENT_LOOKS_LIKE", "receiver")
def receiver_that_resembles_another_is_told(case: Case) -> Objections:
    for field, receiver in case.claim.texts("receiver"):
        if receiver not in case.policy.known and any(
            looks_like(receiver, address) for address in sorted(case.policy.known)
        ):
            yield Objection(
                "The recipient begins and ends like an address you paid before, "
                "but is another one. Compare every group.",
                field,
            )


RECIPIENT_RULES = (
    receiver_is_the_confirmed_one,
    receiver_is_an_address_of_somebody,
    receiver_is_no_token_and_no_venue,
    chain_out_is_the_confirmed_one,
    receiver_that_is_a_contract_is_told,
    receiver_that_resembles_another_is_told,
)
