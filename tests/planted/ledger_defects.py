"""Defects of the ledger of acts, which alone forbids a twin, a second payment, a second batch."""

from __future__ import annotations

from .defect import Defect

ACTS = "swapdesk/flows/journal/ledger.py"
DATABASE = "swapdesk/database_writing.py"
FILLING = "swapdesk/flows/journal/journal_filling.py"
MIGRATION = "swapdesk/flows/journal/journal_migration.py"
OLD = "tests/flows/test_old_journals.py"
TESTS = "tests/flows/test_ledger.py"
SEQUENCES = f"{TESTS}::test_every_sequence_of_events_follows_the_law"
FACTS = f"{TESTS}::test_facts_are_merged_and_each_is_what_was_told_last"

LEDGER = (
    Defect(
        "act-moves-from-any-state",
        "A late refusal stands over an order that is known, or over a deposit that is paid.",
        ACTS,
        "WHERE {where} AND state IN ({marks})",
        "WHERE {where} AND (state IN ({marks}) OR 1)",
        (SEQUENCES, "tests/flows/test_ledger.py::test_what_was_decided_first_stands"),
    ),
    Defect(
        "act-refused-then-done",
        "What was refused is told as done, and two acts may hold its claim.",
        ACTS,
        "    State.DONE: OPEN,\n",
        "    State.DONE: (*OPEN, State.REFUSED),\n",
        (SEQUENCES,),
    ),
    Defect(
        "act-done-then-refused",
        "A deposit that is paid is refused by a late answer, and is paid once more.",
        ACTS,
        "    State.REFUSED: OPEN,\n",
        "    State.REFUSED: (*OPEN, State.DONE),\n",
        (SEQUENCES,),
    ),
    Defect(
        "act-sent-twice",
        "What left and is not answered leaves once more, by another desk of the same home.",
        ACTS,
        "    State.SENT: (State.PREPARED,),\n",
        "    State.SENT: (State.PREPARED, *LEFT),\n",
        (SEQUENCES,),
    ),
    Defect(
        "act-that-never-left-unknown",
        "A payment that nobody was asked to sign blocks its order for good.",
        ACTS,
        "    State.UNKNOWN: LEFT,",
        "    State.UNKNOWN: OPEN,",
        (SEQUENCES,),
    ),
    Defect(
        "move-told-that-was-none",
        "A desk whose answer came too late goes on as if it had decided.",
        ACTS,
        "        return moved == 1\n",
        "        return moved >= 0\n",
        (SEQUENCES,),
    ),
    Defect(
        "claim-without-an-index",
        "A statement that asks nobody begins a second payment of a deposit.",
        "swapdesk/flows/journal/journal_migration.py",
        "CREATE UNIQUE INDEX operation_claim ON",
        "CREATE INDEX operation_claim ON",
        (f"{TESTS}::test_a_claim_is_a_rule_of_the_file",),
    ),
    Defect(
        "claim-taken-and-untold",
        "Who asks for what another desk did is told that the journal is broken.",
        ACTS,
        "self.holder(claim) if claim else None",
        "self.holder(claim) if not claim else None",
        (f"{TESTS}::test_a_claim_that_is_taken_names_who_has_it",),
    ),
    Defect(
        "claim-looked-at-before-the-lock",
        "Of two desks that pay one deposit at a time the slower one is told of a broken journal.",
        DATABASE,
        'execute("BEGIN IMMEDIATE")',
        'execute("BEGIN")',
        (f"{TESTS}::test_who_asks_waits_for_who_reads_before_it_writes",),
    ),
    Defect(
        "claim-of-what-is-open-freed",
        "A file that is being sent is sent once more.",
        ACTS,
        '"UPDATE operation SET claim = NULL WHERE claim = ? AND state = ?",\n'
        "                (claim, State.DONE),",
        '"UPDATE operation SET claim = NULL WHERE claim = ? AND state <> ?",\n'
        "                (claim, State.REFUSED),",
        (SEQUENCES,),
    ),
    Defect(
        "claim-of-a-paid-deposit-freed",
        "A deposit that is paid is paid again.",
        ACTS,
        'FREED_WHEN_DONE: tuple[Kind, ...] = ("create",',
        'FREED_WHEN_DONE: tuple[Kind, ...] = ("deposit", "create",',
        (SEQUENCES,),
    ),
    Defect(
        "claim-of-a-refusal-kept",
        "A deposit whose payment was refused can never be paid.",
        ACTS,
        "claim = ? AND state <> '{State.REFUSED}'",
        "claim = ? OR state = '{State.REFUSED}' AND claim = '{claim}'",
        (SEQUENCES,),
    ),
    Defect(
        "hash-lost-by-an-answer",
        "The transaction of a payment is forgotten by an answer that names none.",
        ACTS,
        "for name, value in result.items() if value is not None}",
        "for name, value in result.items()}",
        (SEQUENCES, FACTS),
    ),
    Defect(
        "facts-mixed-with-older-ones",
        "A swap on chains goes on by a plan of two quotes, without its members that are null.",
        ACTS,
        """    return f"json_set(result{', ?, json(?)' * (len(facts) // 2)})", facts\n""",
        """    del facts\n    return "json_patch(result, ?)", [json.dumps(_named(result))]\n""",
        (FACTS,),
    ),
    Defect(
        "reason-of-before",
        "An order that was found is shown as one whose answer is lost.",
        ACTS,
        "SET state = ?, code = ?,",
        "SET state = ?, code = coalesce(?, code),",
        (SEQUENCES,),
    ),
    Defect(
        "told-whatever-stands",
        "A signature is kept for an act that another desk has ended.",
        ACTS,
        'f" WHERE id = ? AND state IN ({marks})",\n                (*values, code, id, *among),',
        'f" WHERE id = ? AND (state IN ({marks}) OR 1)",\n'
        "                (*values, code, id, *among),",
        (FACTS,),
    ),
    Defect(
        "taken-over-from-the-living",
        "Two desks carry out one swap.",
        ACTS,
        "if row is None or not self._me.may_take_over(ProcessIdentity(*row)):",
        "if row is None:",
        (SEQUENCES,),
    ),
    Defect(
        "rows-of-every-group",
        "The answer about one group refuses the rows of all of them.",
        ACTS,
        '        where = "parent = ? AND kind = ?"\n',
        "        where = \"? <> '' AND kind = ?\"\n",
        (f"{TESTS}::test_parts_move_together_and_those_that_were_decided_stay",),
    ),
    Defect(
        "commit-of-a-half",
        "A batch that broke off while it was written is there with a part of its rows.",
        DATABASE,
        "    with connection:\n        yield connection\n",
        "    try:\n        yield connection\n    finally:\n        connection.commit()\n",
        (f"{TESTS}::test_what_breaks_off_leaves_nothing",),
    ),
    Defect(
        "time-of-the-service-lost",
        "An order is looked for from a wrong moment on, and told as never created.",
        ACTS,
        "server_at = coalesce(?, server_at)",
        "server_at = ?",
        (f"{TESTS}::test_each_moment_is_of_its_own_move",),
    ),
    Defect(
        "old-payment-without-its-claim",
        "A deposit that an older desk paid is paid again by the one that took its journal over.",
        FILLING,
        "iif(means IS NULL, NULL, 'deposit:' || service_id)",
        "NULL",
        (f"{OLD}::test_calls_and_deposits_stand_in_the_ledger",),
    ),
    Defect(
        "old-payment-that-may-have-been-holds-its-claim",
        "Of two payments the journal keeps the one that is refused later, and a third is made.",
        FILLING,
        "ORDER BY (state = 'done') = (kind = 'batch')",
        "ORDER BY (state <> 'done') = (kind = 'batch')",
        (f"{OLD}::test_a_claim_is_held_by_what_was_done_or_came_first",),
    ),
    Defect(
        "old-unknown-told-as-refused",
        "An exchange whose answer an older desk lost is created a second time.",
        FILLING,
        "('unknown', 'unknown'), ('confirmed', 'done')",
        "('unknown', 'refused'), ('confirmed', 'done')",
        (f"{OLD}::test_creates_and_their_steps_stand_in_the_ledger",),
    ),
    Defect(
        "old-tables-left-behind",
        "A desk of an older version goes on in tables that nobody reads, and pays by them.",
        MIGRATION,
        'db.execute(f"DROP TABLE IF EXISTS {table}")',
        "pass",
        (f"{OLD}::test_a_desk_of_an_older_version_finds_nothing_to_write_to",),
    ),
    Defect(
        "old-journal-without-a-copy",
        "Who goes back to the older version has no journal for it.",
        MIGRATION,
        "        _copy(path, version)\n",
        "        pass\n",
        (f"{OLD}::test_the_file_is_copied_as_it_was_before",),
    ),
    Defect(
        "old-word-that-nobody-knows",
        "A journal with a state of no version is taken over with that act missing.",
        FILLING,
        "LEFT JOIN word ON word.word = step.state",
        "JOIN word ON word.word = step.state",
        (f"{OLD}::test_a_journal_of_another_kind_is_refused_and_left_as_it_is",),
    ),
    Defect(
        "handed-over-while-under-way",
        "A deposit that one bundle may be paying is paid by another one.",
        ACTS,
        '" AND before.state IN (?, ?, ?))",\n',
        '" AND before.state IN (?, ?, ?) AND 0)",\n',
        (f"{TESTS}::test_what_is_unknown_is_handed_over_once_what_it_was_a_part_of_is_over",),
    ),
)
