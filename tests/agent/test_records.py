"""What was signed: one confirmation pays once, one nonce belongs to one payment. A payment on
Solana may be executed until its blockhash has expired: only then is it lost."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.honest_solana import HONEST
from http_clients import node_transport
from sampling import examples as how_many
from swapdesk.acts import State
from swapdesk.agent.gate.case import PastSignature, Taking
from swapdesk.agent.process.payload_assessment import read_solana_facts
from swapdesk.agent.transactions.delivery import SolanaDelivery
from swapdesk.agent.transactions.file import FILE, SCHEMA_VERSION, RecordsFile
from swapdesk.agent.transactions.records import Records
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.wallet.answers import SignedTransaction, TransactionWord
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.protocol import Refused
from wallet.refusals import refused
from wallet.words import WORDS, standing

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    made = Records(RecordsFile(tmp_path, writable=True))
    yield made
    made.close()


class Draft(SignedTransaction, frozen=True):
    """A transaction with what is kept beside it."""

    content: bytes = b"call"
    raw: bytes = b""
    fee: int = 100
    priority: int = 10
    asked: str | None = None


def draft(name: str, nonce: int | None = 0, **changed: object) -> Draft:
    made = Draft(
        hash=f"0x{name}",
        intent_id="intent",
        purpose=Purpose.SWAP,
        chain="base",
        account="0xme",
        state=State.PREPARED,
        nonce=nonce,
        last_valid_height=None,
        confirmations=0,
        replaces=None,
        created=NOW,
        raw=name.encode(),
    )
    return replace(made, **changed)  # type: ignore[arg-type]


def write(records: Records, one: Draft, of_node: int = 0) -> None:
    given = PastSignature(one.content, "swap", "quote", 1, one.account, None, None)
    fees = (one.fee, one.priority)
    records.write(one, one.raw, given, of_node, fees=fees, asked=one.asked)


def put(records: Records, one: Draft, word: TransactionWord, of_node: int = 0) -> None:
    write(records, one, of_node)
    assert records.move(one.hash, *standing(word), among=(State.PREPARED,))


@pytest.mark.parametrize("word", [one for one in WORDS if one != "signed"])
@pytest.mark.parametrize("purpose", [Purpose.SWAP, Purpose.DEPOSIT, Purpose.APPROVE])
def test_a_second_signature_of_an_intent(
    records: Records, word: TransactionWord, purpose: Purpose
) -> None:
    first = draft("first", purpose=purpose)
    put(records, first, word)
    second = draft("second", 1, purpose=purpose)
    if word == "abandoned":
        write(records, replace(second, nonce=0))
    elif word == "replaced" or (purpose is Purpose.APPROVE and word in ("failed", "lost")):
        write(records, second, 1)
    else:
        with refused("already_signed", "unresolved"):
            write(records, second, 1)
        assert [one.hash for one in records.page()[0]] == [first.hash]


def test_an_allowance_is_set_to_zero_and_then_to_the_amount(records: Records) -> None:
    put(records, draft("zero", purpose=Purpose.APPROVE, content=b"0"), "succeeded")
    write(records, draft("amount", 1, purpose=Purpose.APPROVE, content=b"n"), 1)


def test_an_expired_payment_on_solana_may_be_signed_again(records: Records) -> None:
    put(records, draft("expired", None, last_valid_height=7), "lost")
    write(records, draft("again", None, last_valid_height=200))


def test_what_is_signed_and_not_sent_comes_first(records: Records) -> None:
    write(records, draft("first"))
    other = draft("other", 1, intent_id="other")
    with refused("unresolved"):
        write(records, other)
    assert records.move("0xfirst", *standing("sent"))
    write(records, other)
    # Another chain and another account are another matter.
    write(records, draft("elsewhere", 0, intent_id="third", chain="polygon"))
    write(records, draft("somebody", 0, intent_id="fourth", account="0xyou"))


def test_nonces_follow_each_other_also_when_the_node_is_behind(records: Records) -> None:
    assert records.next_nonce("base", "0xme", 5) == 5
    put(records, draft("a", 5), "sent", 5)
    assert records.next_nonce("base", "0xme", 5) == 6
    assert records.next_nonce("base", "0xme", 9) == 9
    with refused("stale_review"):
        write(records, draft("b", 5, intent_id="b"), 5)
    put(records, draft("c", 6, intent_id="c"), "abandoned", 5)
    assert records.next_nonce("base", "0xme", 5) == 6


def test_a_replacement_is_the_same_call_for_more(records: Records) -> None:
    first = draft("first")
    put(records, first, "sent")
    bump = replace(first, hash="0xbump", fee=110, priority=11, replaces=first.hash)
    for wrong in (
        replace(bump, fee=109),
        replace(bump, priority=10),
        replace(bump, content=b"another call"),
        replace(bump, nonce=1),
        replace(bump, intent_id="other"),
        replace(bump, replaces="0xunknown"),
    ):
        with refused("stale_review", "already_signed"):
            write(records, wrong)
    write(records, bump)
    assert records.fees("0xbump") == (110, 11)
    [told] = records.page()[0][1:]
    assert (told.replaces, [one.hash for one in records.twins(told)]) == (
        first.hash,
        [first.hash],
    )
    records.move(first.hash, *standing("mined"))
    with refused("stale_review", "already_signed"):
        write(records, replace(bump, hash="0xlate", fee=200, priority=20))


def test_states_end(records: Records) -> None:
    put(records, draft("a"), "succeeded")
    assert not records.move("0xa", *standing("sending"))
    assert not records.move("0xa", *standing("abandoned"), among=(State.PREPARED,))


def test_a_name_means_one_chain_for_ever(records: Records) -> None:
    assert records.genesis("base") is None
    records.bind_chain("base", 8453, "0xaa")
    records.bind_chain("base", 8453, "0xaa")
    for chain_id, genesis in ((8453, "0xbb"), (1, "0xaa"), (None, "0xaa")):
        with refused("other_chain"):
            records.bind_chain("base", chain_id, genesis)
    assert records.genesis("base") == "0xaa"


def test_signatures_are_remembered_with_what_became_of_them(records: Records) -> None:
    taking = Taking(1 << 200, "0xs", True, "once", "sequence", 0, 1_800_000_000)
    permit = PastSignature(b"p", "allow", "q", 1, "0xme", "0xt", "0xc", "key", 0, 2, taking=taking)
    records.write_given("intent", permit, NOW)
    records.write_given("intent", permit, NOW)
    put(records, draft("a"), "sent")
    records.write_given("other", permit, NOW)
    first, second = records.given("intent")
    assert first == permit
    assert (second.hash, second.code, second.nonce, second.spent) == ("0xa", None, 0, False)
    records.move("0xa", *standing("replaced"))
    assert (records.given("intent")[1].code, records.given("intent")[1].spent) == ("REPLACED", True)
    for nonce in (None, (1 << 256) - 1, bytes(31) + b"\1"):
        one = replace(permit, content=str(nonce).encode(), taking=replace(taking, nonce=nonce))
        records.write_given("nonces", one, NOW)
        assert records.given("nonces")[-1] == one


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["one", "two", "three"]),
        st.sampled_from(WORDS),
        st.booleans(),
        st.integers(0, 3),
    ),
    max_size=25,
)


@settings(max_examples=how_many(60), deadline=None)
@examples(ACTIONS)
def test_whatever_happens_an_intent_pays_once(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, TransactionWord, bool, int]]
) -> None:
    """At no time are there two payments of one intent of which both may arrive, but for those
    that share a nonce."""
    records = Records(RecordsFile(tmp_path_factory.mktemp("records"), writable=True))
    try:
        for number, (intent, word, bump, behind) in enumerate(actions):
            known = records.page(intent)[0]
            of_node = max(0, number - behind)
            one = draft(str(number), intent_id=intent, fee=100 * 2**number, priority=2**number)
            if bump and known:
                one = replace(one, nonce=known[-1].nonce, replaces=known[-1].hash)
            else:
                one = replace(one, nonce=records.next_nonce("base", "0xme", of_node))
            try:
                write(records, one, of_node)
            except Refused:
                if known:
                    records.move(known[-1].hash, *standing(word))
            arriving = [
                each
                for each in records.page(intent)[0]
                if each.word not in ("abandoned", "replaced")
            ]
            assert len({each.nonce for each in arriving}) <= 1
        taken: dict[int | None, set[str]] = {}
        for each in records.page()[0]:
            if each.word != "abandoned":
                taken.setdefault(each.nonce, set()).add(each.intent_id)
        assert all(len(intents) == 1 for intents in taken.values())
    finally:
        records.close()


def test_the_file_is_ours_alone_and_damage_is_no_reason_to_write(tmp_path: Path) -> None:
    RecordsFile(tmp_path, writable=True).close()
    file = tmp_path / FILE
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    with refused("records", match="other users"):
        RecordsFile(tmp_path, writable=True)
    file.chmod(0o600)
    content = file.read_bytes()
    file.write_bytes(content[:4096] + os.urandom(len(content) - 4096))
    with refused("records"):
        RecordsFile(tmp_path, writable=True)
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere")
    with refused("records"):
        RecordsFile(tmp_path, writable=True)


def test_a_reader_needs_no_file_and_writes_none(tmp_path: Path) -> None:
    reader = Records(RecordsFile(tmp_path, writable=False))
    assert reader.page()[0] == ()
    reader.close()
    assert not (tmp_path / FILE).exists()
    writer = Records(RecordsFile(tmp_path, writable=True))
    write(writer, draft("a"))
    reader = Records(RecordsFile(tmp_path, writable=False))
    assert [one.hash for one in reader.page()[0]] == ["0xa"]
    with refused("records"):
        reader.move("0xa", *standing("sent"))
    reader.close()
    writer.close()


def test_a_disk_that_takes_nothing_refuses_the_signature(records: Records, tmp_path: Path) -> None:
    blocker = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with refused("records"):
        write(records, draft("a"))
    blocker.execute("ROLLBACK")
    blocker.close()
    assert records.page()[0] == ()


def test_a_cancellation_takes_the_place_of_one_transaction_and_bars_what_pays(
    records: Records,
) -> None:
    put(records, draft("aa"), "sent")
    alone = draft("ca", purpose=Purpose.CANCEL, content=b"", nonce=1)
    cheap = replace(alone, nonce=0, replaces="0xaa", fee=109, priority=11)
    back = replace(cheap, fee=110)
    for wrong in (alone, cheap, replace(back, intent_id="another")):
        with refused("stale_review"):
            write(records, wrong, 1)
    write(records, back, 1)
    # It may be raised as often as it waits, and what it took back is not paid again.
    write(records, replace(back, hash="0xcb", fee=130, priority=20, replaces="0xca"), 1)
    write(records, replace(back, hash="0xcc", fee=150, priority=30, replaces="0xcb"), 1)
    with refused("already_signed"):
        write(records, draft("ab", fee=200, priority=40, replaces="0xaa"), 1)
    for name in ("0xaa", "0xca", "0xcb"):
        records.move(name, *standing("replaced"))
    records.move("0xcc", *standing("succeeded"))
    with refused("already_signed"):
        write(records, draft("ad", nonce=1), 1)
    write(records, draft("ae", nonce=1, intent_id="another"), 1)


def aged(directory: Path, version: int) -> None:
    """Make the file what a release with that schema wrote."""
    with sqlite3.connect(directory / FILE) as old:
        for word in WORDS:
            state, code = standing(word)
            old.execute("UPDATE tx SET state=? WHERE state=? AND code IS ?", (word, state, code))
        old.execute("ALTER TABLE tx DROP COLUMN code")
        if version < 5:
            old.execute("DROP TABLE paid_call")
        if version < 4:
            old.execute("DROP TABLE spent")
            old.execute("DROP TABLE policy")
        if version < 3:
            old.execute("ALTER TABLE given DROP COLUMN taking")
        if version < 2:
            old.execute("ALTER TABLE tx DROP COLUMN asked")
        old.execute(f"PRAGMA user_version={version}")
    old.close()


def written(directory: Path) -> tuple[SignedTransaction, ...]:
    """A transaction of each word in the file."""
    records = Records(RecordsFile(directory, writable=True))
    for word in WORDS:
        put(records, draft(word, intent_id=word, chain=word, asked="{}"), word)
    told = records.page()[0]
    records.close()
    assert sorted(one.word for one in told) == sorted(WORDS)
    return told


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_a_file_of_an_earlier_release_is_taken_on(tmp_path: Path, version: int) -> None:
    """What it did not keep is not known; everything else stays as it was."""
    told = written(tmp_path)
    aged(tmp_path, version)
    reader = Records(RecordsFile(tmp_path, writable=False))
    assert reader.page()[0] == told
    assert [one.taking for one in reader.given("lost")] == [None]
    assert [reader.next_nonce(word, "0xme", 0) for word in ("lost", "abandoned")] == [1, 0]
    assert (reader.paid_calls(), reader.spent.policies()) == (frozenset(), frozenset())
    # The desk of that release goes on beside it.
    with sqlite3.connect(tmp_path / FILE) as old:
        assert old.execute("PRAGMA user_version").fetchone() == (version,), "it was only read"
        old.execute("UPDATE tx SET state='mined', confirmations=1 WHERE hash='0xsent'")
    assert (reader.find("0xsent").word, reader.find("0xsent").confirmations) == ("mined", 1)
    with sqlite3.connect(tmp_path / FILE) as old:
        old.execute("UPDATE tx SET state='sent', confirmations=0 WHERE hash='0xsent'")
    old.close()
    after = Records(RecordsFile(tmp_path, writable=True))
    assert after.page()[0] == reader.page()[0] == told
    assert after.asked("0xsigned") == ("{}" if version > 1 else None)
    assert [(one.hash, one.taking) for one in after.given("signed")] == [("0xsigned", None)]
    assert after.move("0xsigned", State.SENT, among=(State.PREPARED,))
    assert after.move("0xsending", State.SENT, among=(State.UNKNOWN,))
    assert reader.find("0xsending").word == "sent"
    reader.close()
    write(after, draft("b", 1, asked="[]", intent_id="another"), of_node=1)
    assert after.asked("0xb") == "[]"
    with pytest.raises(KeyError):
        after.asked("0xc")
    after.close()
    again = Records(RecordsFile(tmp_path, writable=True))
    assert again.asked("0xb") == "[]"
    again.close()


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_an_earlier_file_is_taken_on_whole_or_not_at_all(tmp_path: Path, version: int) -> None:
    told = written(tmp_path)
    aged(tmp_path, version)
    with sqlite3.connect(tmp_path / FILE) as old:
        old.execute(
            "CREATE TRIGGER full BEFORE UPDATE ON tx WHEN old.state = 'lost'"
            " BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
        before = list(old.iterdump())
    with refused("records", match="disk full"):
        RecordsFile(tmp_path, writable=True)
    assert list(old.iterdump()) == before
    assert old.execute("PRAGMA user_version").fetchone() == (version,)
    old.execute("DROP TRIGGER full")
    old.close()
    records = Records(RecordsFile(tmp_path, writable=True))
    assert records.page()[0] == told
    records.close()


@pytest.mark.parametrize("writable", [True, False])
def test_a_file_of_a_newer_release_is_left_alone(tmp_path: Path, writable: bool) -> None:
    written(tmp_path)
    reader = Records(RecordsFile(tmp_path, writable=False))
    with sqlite3.connect(tmp_path / FILE) as newer:
        newer.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
        before = list(newer.iterdump())
    with refused("records", match=r"written by a newer swapdesk"):
        RecordsFile(tmp_path, writable=writable)
    with refused("records", match=r"written by a newer swapdesk"):
        reader.page()
    reader.close()
    assert list(newer.iterdump()) == before
    newer.close()


def test_what_a_block_has_does_not_leave_once_more(records: Records) -> None:
    put(records, draft("a"), "mined")
    assert not records.move("0xa", State.UNKNOWN, mined=False)
    assert records.move("0xa", State.UNKNOWN), "a reorganised chain may have lost it"
    assert (records.find("0xa").word, records.find("0xa").mined) == ("sending", False)


def test_the_dearest_of_a_nonce_that_is_on_its_way_is_the_one_to_keep(records: Records) -> None:
    first = draft("a")
    put(records, first, "sent")
    cheap, dear = records.find("0xa"), replace(first, hash="0xb", fee=120, priority=12)
    assert records.outbidding(cheap) is None
    write(records, replace(dear, replaces="0xa"))
    assert records.outbidding(cheap) is None, "it has not left the wallet"
    records.move("0xb", *standing("sending"), among=(State.PREPARED,))
    found = records.outbidding(cheap)
    assert found.hash == "0xb"
    assert records.outbidding(found) is None


LAST_VALID = 1_150


class Node:
    """Answers by method; the height of its chain by how certain it shall be."""

    def __init__(self, heights: dict[str, int], **results: Any) -> None:
        self._heights = heights
        self._results = results

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        asked = json.loads(request.content)
        if asked["method"] == "getBlockHeight":
            result: Any = self._heights[asked["params"][0]["commitment"]]
        else:
            result = self._results[asked["method"]]
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": asked["id"], "result": result})


class Silent(SolanaClient):
    """A client of a node that nobody can reach."""

    def __init__(self) -> None:
        self.asked = 0
        super().__init__("http://127.0.0.1/", transport=httpx2.MockTransport(self._hear))

    def _hear(self, request: httpx2.Request) -> httpx2.Response:
        self.asked += 1
        raise httpx2.ConnectError("nobody is there", request=request)


@pytest.fixture
def signed(records: Records) -> SignedTransaction:
    payment = draft(
        "aa", None, chain="solana", raw=b"\1" + bytes(100), last_valid_height=LAST_VALID
    )
    write(records, payment)
    return records.find(payment.hash)


@pytest.fixture
def sent(records: Records, signed: SignedTransaction) -> SignedTransaction:
    assert records.move(signed.hash, *standing("sent"), among=(State.PREPARED,))
    return records.find(signed.hash)


@pytest.mark.parametrize(
    ("height", "status", "word"),
    [
        (1_000, None, "sent"),
        (LAST_VALID, None, "sent"),
        (LAST_VALID + 1, None, "lost"),
        (LAST_VALID + 1, {"slot": 9, "confirmationStatus": "confirmed", "err": None}, "mined"),
        (1_000, {"slot": 9, "confirmationStatus": "finalized", "err": None}, "succeeded"),
        (1_000, {"slot": 9, "confirmationStatus": "finalized", "err": {}}, "failed"),
    ],
)
async def test_what_may_still_be_executed_is_not_lost(
    records: Records,
    sent: SignedTransaction,
    height: int,
    status: dict[str, Any] | None,
    word: TransactionWord,
) -> None:
    node = Node({"finalized": height}, getSignatureStatuses={"value": [status]})
    async with SolanaClient("http://127.0.0.1/", transport=node_transport(node)) as client:
        found = await SolanaDelivery(client, records).resolve(sent, resend=False)
    assert found.word == word


async def test_what_was_given_up_while_it_waited_to_be_sent_does_not_leave(
    records: Records, sent: SignedTransaction
) -> None:
    """The request to send it was read before it was given up, and had its turn afterwards."""
    assert records.move(sent.hash, *standing("abandoned"), among=(State.SENT,))
    async with Silent() as client:
        found = await SolanaDelivery(client, records).send(sent)
    assert (found.word, client.asked) == ("abandoned", 0)


async def test_what_no_node_heard_of_is_where_it_was(
    records: Records, signed: SignedTransaction
) -> None:
    """No byte has left, so it may still be given up."""
    async with Silent() as client:
        with pytest.raises(Refused, match="it was not sent"):
            await SolanaDelivery(client, records).send(signed)
    assert (records.find(signed.hash).word, client.asked) == ("signed", 1)


async def test_a_payment_may_be_executed_until_the_newest_block_forgets_its_blockhash() -> None:
    """Its blockhash may be of a block that is not confirmed yet."""
    honest = next(iter(HONEST.values()))
    node = Node(
        {"confirmed": 1_000, "processed": 1_010},
        getGenesisHash="genesis",
        getBalance={"value": 1},
        getLatestBlockhash={"value": {"blockhash": "newest", "lastValidBlockHeight": LAST_VALID}},
        isBlockhashValid={"value": True},
        simulateTransaction={"value": {"err": None}},
    )
    async with SolanaClient("http://127.0.0.1/", transport=node_transport(node)) as client:
        read = await read_solana_facts(client, honest.payload, honest.promise, NOW)
    assert (read.last_valid, read.problem) == (1_010 + 150, None)
