"""The assessment of a payload: what it does, what its chain answers, and what the gate decides. The
facts of the chain are read in one batch, while one simulation runs. Assessing signs nothing and
records nothing.

A payload is assessed twice: for the review, and again before the signature. The second assessment
uses the same payload as the first, so only the chain may have changed.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.agent.gate.case import (
    Case,
    Facts,
    GasPlan,
    PaidCall,
    PastSignatures,
    Policy,
    Read,
    assets_here,
    needed,
    spelled,
)
from swapdesk.agent.gate.rules.steps import taken_in_all
from swapdesk.agent.gate.verdict import judge, unreadable
from swapdesk.agent.gate.words import SOL
from swapdesk.agent.process.chains import Chains, block_hash, told
from swapdesk.agent.shapes.claim import Claim, PayloadRefused
from swapdesk.agent.shapes.reading import read_payload
from swapdesk.agent.signers import digest_of_others
from swapdesk.agent.spending.limits import (
    NEEDED,
    Spending,
    bounds,
    miscounted,
    refused,
    spending_of,
)
from swapdesk.agent.spending.limits import judge as judge_spending
from swapdesk.agent.spending.policy_file import PolicyKeeper, PolicyUnknown
from swapdesk.agent.transactions.records import Records
from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.deployments import SANDBOX_VENUES
from swapdesk.chain.node_http import NodeError, NodeUncertain
from swapdesk.chain.rpc.evm import (
    Call,
    EvmClient,
    EvmRefused,
    Head,
    Log,
    Request,
    SimulatedCall,
    balance_of,
    calling,
    code_at,
    nonce_of,
    octets,
    quantity,
    read_head,
)
from swapdesk.chain.rpc.solana import BalanceChanges, Blockhash, SimulationResult, SolanaClient
from swapdesk.chain.solana import read_transaction
from swapdesk.clock import Clock
from swapdesk.wallet.accounts import (
    COIN_DECIMALS,
    Account,
    ChainLink,
    Kind,
    WalletPlace,
    has_smart_accounts,
)
from swapdesk.wallet.answers import (
    CHAIN_UNREAD,
    BalanceChange,
    EvmTerms,
    Review,
    RuleFinding,
    Severity,
    Simulation,
)
from swapdesk.wallet.promise import (
    Asset,
    Payload,
    Promise,
    Purpose,
    SolanaPayload,
    TransactionPayload,
    TypedDataPayload,
)
from swapdesk.wallet.protocol import Refused
from swapdesk.wallet.spending import TokenKey
from swapdesk.wire.price_tiers import PriceTier

NATIVE = checksummed("0x" + "ee" * 20)
"""The address that stands for the native coin in the transfers of a simulation."""
_TRANSFER = "0x" + keccak(b"Transfer(address,address,uint256)").hex()
GAS_MARGIN_PERCENT = 20
"""The percentage added to a node's gas estimate, because the chain's state may change before the
transaction is executed."""


async def read_facts(
    client: EvmClient,
    needs: tuple[Iterable[str], Iterable[Read]],
    promise: Promise,
    now: datetime,
    call: Call | None = None,
) -> Facts:
    """Returns the facts that the gate needs from an EVM chain. A fact that cannot be read is
    missing, and the gate then refuses. ``needs`` is a result of ``gate.case.needed``; ``call`` is
    the call to simulate, None for a document."""
    code, reads = sorted(needs[0]), sorted(needs[1], key=lambda call: (call.contract, call.data))
    account = promise.account
    requests = [
        Request("eth_chainId"),
        Request("eth_getBlockByNumber", ("0x0", False)),
        Request("eth_getBlockByNumber", ("latest", False)),
        balance_of(account),
        *(code_at(address) for address in code),
        *(calling(Call(read.contract, read.data)) for read in reads),
    ]
    if call is not None:
        requests += [
            nonce_of(account, "pending"),
            Request("eth_maxPriorityFeePerGas"),
            Request("eth_estimateGas", (call.as_json(),)),
        ]
    try:
        answers, outcome = await asyncio.gather(client.batch(requests), _simulated(client, call))
    except NodeError as error:
        return Facts(now, problem=str(error))
    head, at = told(read_head, answers[2]), 4 + len(code)
    facts = Facts(
        now=now,
        chain_id=told(quantity, answers[0]),
        genesis_hash=told(block_hash, answers[1]),
        code={
            address: found
            for address, answer in zip(code, answers[4:at], strict=True)
            if (found := told(octets, answer)) is not None
        },
        answers={
            read: found
            for read, answer in zip(reads, answers[at : at + len(reads)], strict=True)
            if (found := told(octets, answer))
        },
        native=told(quantity, answers[3]),
        time=None if head is None else head.timestamp,
    )
    if call is None or head is None:
        return facts
    nonce, priority, gas = (told(quantity, answer) for answer in answers[-3:])
    simulation = _evm_simulation(outcome, head, gas, promise)
    plan = None
    if gas is not None and priority is not None:
        plan = _gas_plan(gas, head.base_fee, priority, promise.gas_units)
    return replace(
        facts,
        gas=plan,
        simulation=simulation,
        nonce=nonce,
        base_fee=head.base_fee,
        priority=priority,
    )


async def _simulated(client: EvmClient, call: Call | None) -> SimulatedCall | None:
    try:
        return None if call is None else (await client.simulate([call]))[0]
    except EvmRefused:
        return None


def _gas_plan(gas: int, base_fee: int, priority: int, most: int) -> GasPlan:
    """Returns the gas limit and price to sign. The price covers a doubled base fee. If the cost
    would exceed ``most``, a lower price is used as long as it still covers a base fee raised by an
    eighth."""
    limit = gas + gas * GAS_MARGIN_PERCENT // 100 if gas > 21_000 else gas
    fee = 2 * base_fee + priority
    allowed = most // limit
    if base_fee + base_fee // 8 + priority <= allowed < fee:
        fee = allowed
    return GasPlan(limit, fee)


def _evm_simulation(
    outcome: SimulatedCall | None, head: Head, gas: int | None, promise: Promise
) -> Simulation | None:
    if outcome is None:
        return None
    if not outcome.succeeded:
        return Simulation(head.number, (), outcome.gas_used or 0, outcome.words or "it reverts")
    if outcome.logs is None:
        # Without transfers it is unknown what moves.
        return None
    try:
        changes = tuple(_evm_changes(outcome.logs, promise))
    except NodeUncertain:
        return None
    return Simulation(head.number, changes, outcome.gas_used or gas or 0)


def _evm_changes(logs: Sequence[Log], promise: Promise) -> list[BalanceChange]:
    moved: dict[tuple[str, str], int] = defaultdict(int)
    for log in logs:
        # Four topics mean a transfer of a single item (ERC-721), which has no amount.
        if len(log.topics) != 3 or log.topics[0] != _TRANSFER or len(log.data) != 32:
            continue
        units = int.from_bytes(log.data, "big")
        giver, taker = (checksummed("0x" + topic[-40:]) for topic in log.topics[1:])
        moved[giver, log.address] -= units
        moved[taker, log.address] += units
    return [
        _change(holder, None if token == NATIVE else token, units, promise)
        for (holder, token), units in moved.items()
        if units
    ]


def _change(
    holder: str, contract: str | None, units: int, promise: Promise, coin: Asset | None = None
) -> BalanceChange:
    asset = _asset(contract, promise) or coin
    if asset is None:
        return BalanceChange(holder, "?", contract, None, units)
    return BalanceChange(holder, asset.symbol, contract, asset.decimals, units)


def _asset(contract: str | None, promise: Promise) -> Asset | None:
    if contract == promise.sell.contract:
        return promise.sell
    for payment in promise.taken:
        if contract == payment.asset.contract:
            return payment.asset
    same_chain = promise.chain_out == promise.chain
    return promise.buy if same_chain and contract == promise.buy.contract else None


class SigningRequest(Struct, frozen=True):
    """A request to sign. ``replaces`` is the hash of the waiting transaction whose nonce the
    payload reuses, None if the payload has a nonce of its own."""

    payload: Payload
    promise: Promise
    account: Account
    link: ChainLink
    replaces: str | None = None


class Looked(Struct, frozen=True):
    """The result of assessing a payload once. ``claim`` is None if the payload is unreadable.
    ``taken`` is the most, in base units of the token sold, that all signatures under the intent
    together could take."""

    claim: Claim | None
    facts: Facts
    verdict: Review
    plan: EvmTerms | None = None
    taken: int = 0
    spending: Spending | None = None
    """The amounts that can leave because of the payload. They are counted when the payload is
    signed."""


class Looking:
    """Judges payloads by the gate's rules, the spending policy and the state of the chain. Methods
    may raise Refused for problems that no rule covers."""

    def __init__(
        self,
        place: WalletPlace,
        chains: Chains,
        records: Records,
        policy: PolicyKeeper,
        clock: Clock,
    ) -> None:
        self._place = place
        self._spending_policy = policy
        self._chains = chains
        self._records = records
        self._clock = clock

    async def look(self, subject: SigningRequest, before: Looked | None = None) -> Looked:
        """Assesses a payload. ``before`` is None for the first assessment. For the second one, made
        just before signing, it is the result of the first."""
        payload, promise, link = subject.payload, subject.promise, subject.link
        now = self._clock.now()
        policy = self._policy(subject.account, link)
        if payload.purpose is Purpose.CALL:
            policy = replace(policy, calls=self._calls())
        if before is not None and before.claim is not None:
            # The payload is the very object that was reviewed; only the chain may have moved.
            claim = before.claim
        else:
            try:
                claim = read_payload(payload, promise)
            except PayloadRefused as refusal:
                return Looked(None, Facts(now), unreadable(refusal, promise, now))
        memory = self._records.given(promise.intent_id)
        facts = await self._read(subject, claim, policy, memory, now)
        if not policy.genesis_hash:
            # On first use the node's chain is accepted; from the first signature on it is pinned.
            policy = replace(policy, genesis_hash=facts.genesis_hash or "")
        facts = await self._with_bought(facts, claim, promise)
        plan = None
        if isinstance(payload, TransactionPayload) and facts.gas is not None:
            plan, facts = self._plan(subject, facts, before)
        step = payload.step if isinstance(payload, TypedDataPayload) else None
        case = Case(
            claim,
            payload.purpose,
            step,
            promise,
            policy,
            facts,
            memory,
            subject.replaces,
            None if plan is None else plan.nonce,
        )
        verdict = judge(case)
        extra: list[RuleFinding] = []
        if facts.problem is not None:
            words = f"The chain could not be read: {facts.problem}."
            extra.append(RuleFinding(CHAIN_UNREAD, Severity.REFUSE, words))
        if isinstance(payload, TypedDataPayload) and before is None:
            extra += _second_opinion(payload, claim)
        spending = spending_of(
            claim,
            chain_id=link.chain_id,
            account=subject.account.address,
            smart_account=policy.smart_account,
            nonce=case.nonce,
            gas=facts.gas,
            simulation=facts.simulation,
        )
        tier = None
        if payload.purpose is Purpose.CALL:
            tier = (promise.deposit.tier if promise.deposit else None) or PriceTier.READ
        extra += self._within_policy(
            spending, _decimals(claim, promise), now, tier, signing=before is not None
        )
        if extra:
            verdict = replace(verdict, findings=(*extra, *verdict.findings))
        return Looked(claim, facts, verdict, plan, taken_in_all(case), spending)

    def _within_policy(
        self,
        spending: Spending,
        decimals: Mapping[TokenKey, int],
        now: datetime,
        tier: PriceTier | None,
        *,
        signing: bool,
    ) -> tuple[RuleFinding, ...]:
        """Returns the spending policy's objections. ``decimals`` has the confirmed tokens'
        decimals, which the gate compares with the chain. ``tier`` is the price tier of a paid API
        call, otherwise None. With ``signing``, the pass phrase must have opened the policy."""
        keeper, spent = self._spending_policy, self._records.spent
        try:
            if signing:
                policy = keeper.for_signing()
            else:
                held = keeper.read()
                policy = None if held is None else held.policy
        except PolicyUnknown as unknown:
            words = str(unknown)
            return (refused("CHANGED", f"{words[:1].upper()}{words[1:]}."),)
        if tier is not None and not (policy is not None and bounds(policy, spending)):
            return (refused("NEEDED", NEEDED),)
        if policy is None:
            return ()
        past = spent.past(now, spending)
        return (
            *miscounted(policy, spending, decimals),
            *judge_spending(policy, spending, past, spent.now(now), tier),
        )

    def _calls(self) -> frozenset[PaidCall]:
        try:
            held = self._spending_policy.read()
        except PolicyUnknown:
            return frozenset()
        if held is not None and held.policy.call_payees is not None:
            return frozenset()
        return self._records.paid_calls()

    async def _read(
        self,
        subject: SigningRequest,
        claim: Claim,
        policy: Policy,
        memory: PastSignatures,
        now: datetime,
    ) -> Facts:
        payload, promise, link = subject.payload, subject.promise, subject.link
        if isinstance(payload, SolanaPayload) and link.kind is Kind.SOLANA:
            return await read_solana_facts(self._chains.solana(link), payload, promise, now)
        if link.kind is not Kind.EVM:
            return Facts(now)
        call = None
        if isinstance(payload, TransactionPayload):
            data = bytes.fromhex(payload.data[2:])
            call = Call(payload.to, data, subject.account.address, payload.value)
        needs = needed(claim, promise, policy, memory)
        return await read_facts(self._chains.evm(link), needs, promise, now, call)

    async def _with_bought(self, facts: Facts, claim: Claim, promise: Promise) -> Facts:
        if claim.act not in ("order", "swap") or promise.chain_out == promise.chain:
            return facts
        link = self._chains.known(promise.chain_out, promise.chain_out_id)
        if link is None:
            problem = f"this profile has no node of {promise.chain_out[:32]!r} with the same id"
            return replace(facts, problem=facts.problem or problem)
        token = promise.buy.contract
        # A mint of Solana has no name of its own, and a coin no contract.
        symbol: str | None = promise.buy.symbol
        try:
            told = await self._chains.decimals(link, [] if token is None else [token])
            if token is not None and link.kind is Kind.EVM:
                symbol = await self._chains.symbol(link, token)
        except Refused as refusal:
            return replace(facts, problem=facts.problem or refusal.words)
        decimals = COIN_DECIMALS[link.kind] if token is None else told[0]
        return replace(facts, bought_decimals=decimals, bought_symbol=symbol)

    def _policy(self, account: Account, link: ChainLink) -> Policy:
        place = self._place
        return Policy(
            account=account.address,
            chain_id=link.chain_id,
            genesis_hash=self._records.genesis(link.name) or "",
            venues=() if place.live else SANDBOX_VENUES,
            makers=frozenset(place.makers),
            known=frozenset(place.known),
            smart_accounts=has_smart_accounts(live=place.live),
        )

    def _plan(
        self,
        subject: SigningRequest,
        facts: Facts,
        before: Looked | None,
    ) -> tuple[EvmTerms | None, Facts]:
        """Returns the nonce, gas and fees to sign (None if unknown), and the facts with this gas.
        Raises Refused if the gas in ``before`` no longer suffices or there is no transaction to
        replace."""
        promise, replaces = subject.promise, subject.replaces
        gas, priority, chain_id = facts.gas, facts.priority, promise.chain_id
        if gas is None or facts.nonce is None or priority is None or chain_id is None:
            return None, facts
        if before is not None and before.plan is not None:
            agreed = replace(gas, limit=before.plan.gas, fee=before.plan.max_fee)
            if gas.limit > before.plan.gas * 2:
                raise Refused("stale_review", "it would need more gas than was reviewed")
            return before.plan, replace(facts, gas=agreed)
        nonce = self._records.next_nonce(promise.chain, subject.account.address, facts.nonce)
        fee, priority = gas.fee, min(priority, gas.fee)
        if replaces is not None:
            old = self._records.find(replaces)
            if old is None or old.nonce is None:
                raise Refused("no_transaction", "there is no such transaction to replace")
            nonce = old.nonce
            old_fee, old_priority = self._records.fees(replaces)
            fee = max(fee, old_fee * 9 // 8 + 1)
            priority = min(max(priority, old_priority * 9 // 8 + 1), fee)
        planned = replace(gas, fee=fee)
        plan = EvmTerms(chain_id, nonce, gas.limit, fee, priority)
        return plan, replace(facts, gas=planned)


def _decimals(claim: Claim, promise: Promise) -> dict[TokenKey, int]:
    chain = promise.chain_id
    counted: dict[TokenKey, int] = {
        (chain, None): COIN_DECIMALS[Kind.SOLANA if claim.solana else Kind.EVM]
    }
    for asset in assets_here(claim, promise):
        contract = None if asset.contract is None else spelled(asset.contract)
        counted.setdefault((chain, contract), asset.decimals)
    return counted


def _second_opinion(payload: TypedDataPayload, claim: Claim) -> list[RuleFinding]:
    other = digest_of_others(payload.document)
    if other is None or other == claim.content:
        return []
    words = "Other wallets would compute another digest of it."
    return [RuleFinding("DIGEST_DISAGREES", Severity.REFUSE, words)]


LIFETIME = 150
"""The number of blocks for which a blockhash is valid, on every network of Solana."""


async def read_solana_facts(
    client: SolanaClient, payload: SolanaPayload, promise: Promise, now: datetime
) -> Facts:
    """Returns the facts that the gate needs from a Solana chain. A fact that cannot be read is
    missing, and the gate then refuses."""
    raw = b64decode(payload.transaction)
    message = read_transaction(raw).message
    blockhash = str(message.recent_blockhash)
    keys = [str(key) for key in message.account_keys]
    try:
        genesis, native, newest, good, height, tip, outcome = await asyncio.gather(
            client.genesis_hash(),
            client.balance(promise.account),
            client.latest_blockhash(),
            client.is_blockhash_good(blockhash),
            client.block_height(),
            client.ask("getBlockHeight", {"commitment": "processed"}),
            client.simulate(raw, keys),
        )
    except NodeError as error:
        return Facts(now, problem=str(error))
    facts = Facts(
        now=now,
        genesis_hash=genesis,
        native=native,
        simulation=_solana_simulation(outcome, height, promise),
        blocks_left=_blocks_left(payload, blockhash, newest, good, height),
    )
    if type(tip) is not int:
        return replace(facts, problem="the node did not say how high its chain is")
    # Its blockhash may be newer than the newest that is confirmed.
    return replace(facts, last_valid=max(newest.last_height, tip + LIFETIME))


def _blocks_left(
    payload: SolanaPayload, blockhash: str, newest: Blockhash, good: bool, height: int
) -> int | None:
    """Returns for how many more blocks the transaction's blockhash is valid; None if unknown.
    ``good`` is False if the node says that the blockhash has expired; the result is then 0."""
    if not good:
        return 0
    if blockhash == newest.blockhash:
        return newest.last_height - height
    if payload.last_valid_height is None:
        return None
    return min(payload.last_valid_height, newest.last_height) - height


def _solana_simulation(
    outcome: SimulationResult, height: int, promise: Promise
) -> Simulation | None:
    units = outcome.units or 0
    if outcome.error is not None:
        return Simulation(height, (), units, "the programs refuse it")
    if outcome.moves is None:
        return None
    return Simulation(height, tuple(_solana_changes(outcome.moves, promise)), units)


def _solana_changes(moves: BalanceChanges, promise: Promise) -> list[BalanceChange]:
    changes = [
        _change(account, None, after - before, promise, SOL)
        for account, (before, after) in moves.lamports.items()
        if after != before
    ]
    deposits = {deposit.address for deposit in promise.deposits}
    for move in moves.tokens:
        # A venue may name a token account itself as where a deposit goes.
        holder = move.account if move.account in deposits else move.owner
        changes.append(_change(holder, move.mint, move.after - move.before, promise))
    return changes
