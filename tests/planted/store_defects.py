"""Defects of the store that is shared by several processes."""

from __future__ import annotations

from .defect import Defect

POSTGRES = "swapdesk/service/store/postgres.py"
OUTBOX = "swapdesk/service/store/outbox.py"
CALLS = "swapdesk/service/store/calls.py"
ORDERS = "swapdesk/service/store/orders.py"
TESTS = "tests/service/test_postgres.py"
STORE = "tests/service/test_store.py"
TROUBLE = "tests/service/test_database_trouble.py"
TIME = "tests/service/test_timekeeping.py"

SHARED = (
    Defect(
        "certificate-of-another-host",
        "Whoever stands between a service and its database with any certificate of the authority"
        " reads the password and changes orders.",
        "swapdesk/service/store/postgres.py",
        '        tls["ssl"] = ssl.create_default_context(cafile=place.ca_file)\n',
        '        tls["ssl"] = ssl.create_default_context(cafile=place.ca_file)\n'
        '        tls["ssl"].check_hostname = False\n',
        (
            "tests/service/test_database_trouble.py::"
            "test_the_certificate_of_the_server_is_held_against_what_the_file_says",
        ),
    ),
    Defect(
        "outbox-by-number",
        "A change that is committed by the slower of two processes reaches no stream.",
        POSTGRES,
        '    settled=f"sequence < {_OLDEST_RUNNING}",\n',
        '    settled="TRUE",\n',
        (f"{TESTS}::test_the_outbox_is_read_in_the_order_of_commits",),
    ),
    Defect(
        "row-held-back-for-good",
        "A change waits for the next one where an older transaction ended in silence.",
        OUTBOX,
        "asyncio.timeout(held if rows else None)",
        "asyncio.timeout(None)",
        (f"{TESTS}::test_a_reader_waits_for_whoever_holds_a_row_back",),
    ),
    Defect(
        "one-that-stands-still-stops-all",
        "A process that is stopped in the middle of a commit holds up every stream.",
        POSTGRES,
        '    "idle_in_transaction_session_timeout": "10000",\n',
        "",
        (f"{TESTS}::test_a_process_that_stands_still_holds_nobody_up",),
    ),
    Defect(
        "commits-told-to-nobody",
        "Streams of another process than the worker's are a second late.",
        POSTGRES,
        '                            await connection.execute(f"NOTIFY {CHANNEL}")\n',
        "                            pass\n",
        (f"{TESTS}::test_a_commit_of_another_process_wakes_at_once",),
    ),
    Defect(
        "wake-up-missed-for-good",
        "A change that nobody heard of is told with the next one, whenever that comes.",
        POSTGRES,
        "                        else:\n                            self._wake()\n",
        "                        else:\n                            pass\n",
        (f"{TESTS}::test_a_wake_up_that_was_missed_costs_a_look",),
    ),
    Defect(
        "listening-to-nobody",
        "After the connection that listens was cut, a process hears nothing of others any more.",
        POSTGRES,
        "connection.add_termination_listener(lambda _: self._untold.set())",
        "connection.add_termination_listener(lambda _: None)",
        (f"{TESTS}::test_a_connection_that_listens_and_is_ended_comes_back",),
    ),
    Defect(
        "windows-counted-side-by-side",
        "A partner makes more calls than its limit on as many processes as there are.",
        CALLS,
        "    return None if call is None else _line(call.counted, call.rate_class)\n",
        "    return None\n",
        (f"{TESTS}::test_windows_are_exact_over_processes",),
    ),
    Defect(
        "unused-calls-counted-again",
        "Calls that a process gave back count, and a partner is refused below its limit.",
        CALLS,
        "                await db.alone(_line(*count))\n",
        "                pass\n",
        (f"{TESTS}::test_calls_that_are_given_back_are_not_counted_over",),
    ),
    Defect(
        "clock-behind-counts-anew",
        "Of two processes whose clocks differ each begins the other's window anew.",
        "swapdesk/service/rate_limits.py",
        "            past = row is None or row.number < number\n",
        "            past = row is None or row.number != number\n",
        (f"{TESTS}::test_clocks_ten_minutes_apart_count_in_one_window",),
    ),
    Defect(
        "wrong-clock-acts",
        "A process whose clock is ahead gives up bundles and payments that are still in time.",
        "swapdesk/service/timekeeping.py",
        "            self._wrong.set()\n",
        "",
        (f"{TIME}::test_nothing_is_done_by_a_clock_that_is_wrong",),
    ),
    Defect(
        "wrong-clock-answers",
        "A process whose clock is behind takes quotes that ended long ago, at their old price.",
        "swapdesk/service/router.py",
        "        if operation.access is not Access.OPEN or operation.signed:\n",
        "        if operation.signed:\n",
        (f"{TIME}::test_nothing_is_done_by_a_clock_that_is_wrong",),
    ),
    Defect(
        "payouts-chosen-alike",
        "Two private orders at once are paid from the same wallet, which ties them together.",
        ORDERS,
        '        await db.alone(f"payouts {private.partner_id}")\n',
        "        pass\n",
        (f"{TESTS}::test_two_creates_never_choose_by_the_same_payouts",),
    ),
    Defect(
        "order-read-for-each-reader",
        "A thousand streams of an order ask the database a thousand times when it changes.",
        "swapdesk/service/events.py",
        "            self._news[service_id] = _News(order)\n",
        "            pass\n",
        (f"{TESTS}::test_an_order_is_read_once_for_all_who_are_told_of_it",),
    ),
    Defect(
        "state-from-before-somebody-looked-away",
        "A stream tells a state that the order left while nobody followed it.",
        "swapdesk/service/events.py",
        "        self._news.pop(service_id, None)\n",
        "",
        (f"{TESTS}::test_an_order_is_read_once_for_all_who_are_told_of_it",),
    ),
    Defect(
        "line-passed-in-the-middle",
        "Two creates of a partner each hold what the other one waits for, and stand for a second.",
        ORDERS,
        "            await calls.count_opened(db, order.service_id, call, payment)\n\n"
        "        await self._database.write(begun, behind=calls.line_of(call))\n",
        "            if call is not None:\n"
        "                await db.alone(calls.line_of(call))\n"
        "            await calls.count_opened(db, order.service_id, call, payment)\n\n"
        "        await self._database.write(begun)\n",
        (f"{TESTS}::test_whoever_waits_for_a_call_to_count_holds_nothing_meanwhile",),
    ),
    Defect(
        "creates-one-by-one",
        "Each create of a partner waits for the commit of the one before.",
        POSTGRES,
        "                await self._commit(items)\n",
        "                for item in items:\n                    await self._commit([item])\n",
        (f"{TESTS}::test_creates_that_wait_for_each_other_are_committed_together",),
    ),
    Defect(
        "renewal-waits-for-an-end",
        "A worker that keeps its leases and a commit of several orders stand for a second.",
        ORDERS,
        '    " AND lease_owner = :owner{skip_leased})"\n',
        '    " AND lease_owner = :owner)"\n',
        (f"{TESTS}::test_an_order_that_is_worked_on_holds_up_no_other_one",),
    ),
    Defect(
        "hints-hold-each-other-up",
        "Orders that a hint made due stand still until the slowest of them is committed.",
        ORDERS,
        "        await asyncio.gather(\n"
        "            *(self._database.write(partial(hastened, values=order)) for order in values)\n"
        "        )\n",
        "        async def together(db: Transaction) -> None:\n"
        "            for each in values:\n"
        "                await hastened(db, each)\n\n"
        "        await self._database.write(together)\n",
        (f"{TESTS}::test_an_order_that_is_worked_on_holds_up_no_other_one",),
    ),
    Defect(
        "claims-wait-for-each-other",
        "One order that somebody works on holds up the worker of every other one.",
        POSTGRES,
        '    skip_leased=" FOR UPDATE SKIP LOCKED",\n',
        '    skip_leased="",\n',
        (f"{TESTS}::test_a_claim_passes_over_what_somebody_works_on",),
    ),
    Defect(
        "commit-repeated-blindly",
        "A create whose commit was cut is made once more by a service that does not know of it.",
        POSTGRES,
        "            if not left or not isinstance(error.__cause__, _IN_THE_WAY):\n",
        "            if not left:\n",
        (f"{TROUBLE}::test_a_create_whose_commit_is_cut_is_found_by_its_twin",),
    ),
    Defect(
        "group-created-twice",
        "A group whose commit was cut is told to nobody, and whoever repeats it has it twice.",
        POSTGRES,
        "            unavailable.in_doubt = is_done\n",
        "",
        (f"{TROUBLE}::test_a_group_whose_commit_is_cut_is_created_once",),
    ),
    Defect(
        "own-group-met-as-anothers",
        "A group that was created by a commit in doubt is answered as a defect.",
        "swapdesk/service/store/groups.py",
        "            if not in_doubt:\n                raise\n",
        "            raise\n",
        (f"{TROUBLE}::test_a_group_whose_commit_is_cut_is_created_once",),
    ),
    Defect(
        "payouts-before-the-own-group",
        "A private group whose commit is in doubt meets its own payouts, and is created again.",
        "swapdesk/service/store/groups.py",
        "        async def begun(db: Transaction) -> None:\n",
        "        async def begun(db: Transaction) -> None:\n"
        "            await orders.admit(db, its_orders, payouts)\n",
        (f"{TROUBLE}::test_a_group_whose_commit_is_cut_is_created_once",),
    ),
    Defect(
        "shared-commit-repeated",
        "Changes of a commit that was cut are made again though nobody knows whether they stand.",
        POSTGRES,
        "            all_done = True\n",
        "            all_done = False\n",
        (f"{TROUBLE}::test_changes_that_share_a_commit_that_is_cut_are_made_once",),
    ),
    Defect(
        "end-taken-for-a-failure",
        "A worker that is told to end while its database breaks goes on, and is never replaced.",
        POSTGRES,
        "        _end_where_told(error)\n        if isinstance",
        "        if isinstance",
        (f"{TROUBLE}::test_whoever_is_ended_ends_though_its_connection_breaks_just_then",),
    ),
    Defect(
        "listener-never-ends",
        "A process whose database breaks while it ends listens for ever, and is never replaced.",
        POSTGRES,
        "                _end_where_told(error)\n                silence.begin(",
        "                silence.begin(",
        (f"{TROUBLE}::test_whoever_is_ended_ends_though_its_connection_breaks_just_then",),
    ),
    Defect(
        "revoked-key-lives-on",
        "A key that was revoked is taken for as long as a process cannot look at its partners.",
        "swapdesk/service/router.py",
        "        await self._parts.partners.require()\n",
        "",
        (f"{TROUBLE}::test_no_key_is_taken_of_partners_that_cannot_be_looked_at",),
    ),
    Defect(
        "replica-is-a-crash",
        "While no server can be written to, partners are told of a defect.",
        POSTGRES,
        "    asyncpg.InternalClientError,  # also that no server can be written to\n",
        "",
        (f"{TROUBLE}::test_trouble_is_answered_503_and_over_when_it_is_over",),
    ),
    Defect(
        "replica-kept-for-good",
        "After a failover a service goes on with a server that only reads, until it is restarted.",
        POSTGRES,
        "                await pool.expire_connections()\n",
        "",
        (f"{TROUBLE}::test_trouble_is_answered_503_and_over_when_it_is_over",),
    ),
    Defect(
        "deadlock-refuses-a-create",
        "Of two creates that meet, one fails.",
        POSTGRES,
        "    asyncpg.DeadlockDetectedError,\n",
        "",
        (f"{TROUBLE}::test_whoever_stands_in_the_way_is_let_pass",),
    ),
    Defect(
        "steps-taken-side-by-side",
        "Of several processes of a new release that start together all but one fail.",
        POSTGRES,
        '    await db.alone("swapdesk schema")\n',
        "",
        (f"{STORE}::test_a_step_is_taken_once_and_leaves_the_release_before_it_at_work",),
    ),
    Defect(
        "step-taken-by-halves",
        "A step that fails leaves tables that neither release can use.",
        POSTGRES,
        "                async with connection.transaction():\n                    await _prepare(",
        "                async with contextlib.nullcontext():\n                    await _prepare(",
        (f"{STORE}::test_a_step_is_taken_whole_or_not_at_all",),
    ),
    Defect(
        "release-stumbles-over-the-next",
        "While a new release is rolled out, the one before it refuses creates.",
        POSTGRES,
        "    asyncpg.InvalidCachedStatementError,\n",
        "",
        (f"{STORE}::test_a_step_is_taken_once_and_leaves_the_release_before_it_at_work",),
    ),
    Defect(
        "step-in-five-seconds",
        "A database that has grown cannot be brought to a new release any more.",
        POSTGRES,
        '    await db.run("SET LOCAL statement_timeout = 0")\n',
        "",
        (f"{TESTS}::test_a_step_takes_as_long_as_it_takes",),
    ),
    Defect(
        "recount-in-five-seconds",
        "The books of a service that has grown cannot be held against its orders any more.",
        POSTGRES,
        "        self._seconds = _LONG_SECONDS + _ANSWER_SECONDS\n",
        "",
        (f"{TESTS}::test_a_recount_of_many_orders_takes_longer_than_a_call_may",),
    ),
    Defect(
        "start-beside-a-step-fails",
        "While one process takes a step, no other one starts.",
        POSTGRES,
        '    await db.run("SET LOCAL lock_timeout = 0")\n',
        "",
        (f"{TESTS}::test_a_step_takes_as_long_as_it_takes",),
    ),
    Defect(
        "step-holds-up-everybody",
        "A step that waits behind one long read stops every create.",
        POSTGRES,
        '    await db.run("SET LOCAL lock_timeout TO DEFAULT")\n',
        "",
        (f"{TESTS}::test_a_step_that_has_to_wait_for_a_table_gives_up",),
    ),
    Defect(
        "text-that-no-database-holds",
        "A request with a NUL in it finds the service out of order.",
        "swapdesk/wire/encoding/text.py",
        "            identity_text(text, self.limit)\n",
        "            pass\n",
        ("tests/service/test_hostile_texts.py",),
    ),
    Defect(
        "unavailable-without-a-time",
        "Clients ask a service that cannot answer as often as they like.",
        "swapdesk/service/errors.py",
        "        if code is ErrorCode.SERVICE_UNAVAILABLE:\n",
        "        if code is ErrorCode.PROVIDER_EXCHANGE_FAILED:\n",
        (f"{TROUBLE}::test_a_refused_order_is_no_half_order",),
    ),
)
