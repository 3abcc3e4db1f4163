"""Defects of the sandbox around its chains: the exchanges' books, faults, the server."""

from __future__ import annotations

from .defect import Defect

BOUNDS = "tests/sandbox/test_http_bounds.py"
PORTS = "tests/sandbox/test_service_port.py"

BOOKS: tuple[Defect, ...] = ()

FAULTS: tuple[Defect, ...] = ()

SERVER = (
    Defect(
        "head-that-never-ends",
        "One request whose head has no end fills the memory of the service.",
        "swapdesk/sandbox/http_server.py",
        "        if self._room < 0 and not self.transport.is_closing():\n",
        "        if self._room < -(1 << 30) and not self.transport.is_closing():\n",
        (f"{PORTS}::test_what_cannot_be_read_is_refused_with_the_error_body_on_every_port",),
    ),
    Defect(
        "fields-of-any-size",
        "Fields after a body are read without end, and reach the application as headers.",
        "swapdesk/sandbox/http_server.py",
        "        if self._fields < 0:\n",
        "        if self._fields < 0 and self.cycle is None:\n",
        (f"{PORTS}::test_what_cannot_be_read_is_refused_with_the_error_body_on_every_port",),
    ),
    Defect(
        "half-sent-request-awaited",
        "A few hundred half-sent requests hold every connection of a port, and nobody else trades.",
        "swapdesk/sandbox/http_server.py",
        "        elif now >= self._due and self._fed:\n",
        "        elif now >= self._due + 60 and self._fed:\n",
        (f"{BOUNDS}::test_a_request_that_does_not_come_to_its_end_is_not_waited_for",),
    ),
    Defect(
        "one-peer-takes-all",
        "One address takes all connections of a port, and nobody else trades.",
        "swapdesk/sandbox/http_server.py",
        "sum(_peer(each.client) == peer for each in those) > of_a_peer\n",
        "len(those) > most + of_a_peer + len(peer)\n",
        (f"{BOUNDS}::test_what_is_one_too_many_is_refused",),
    ),
    Defect(
        "refusal-read-as-another-answer",
        "A malformed request behind a create is answered first, as if the create were refused.",
        "swapdesk/sandbox/http_server.py",
        "            if cycle.response_started or self.pipeline or not cycle.more_body:\n",
        "            if cycle.response_started:\n",
        (f"{BOUNDS}::test_a_malformed_request_behind_another_one_is_no_answer_to_that",),
    ),
    Defect(
        "unread-answer-kept",
        "Clients that read no answer hold its bytes and their connections for ever.",
        "swapdesk/sandbox/http_server.py",
        "        seen = -1 if ending else waiting\n",
        "        seen = -1 if ending else 0\n",
        (f"{BOUNDS}::test_an_answer_that_nobody_reads_is_given_up",),
    ),
    Defect(
        "answered-early-kept",
        "A connection whose request was refused before its end is kept for ever.",
        "swapdesk/sandbox/http_server.py",
        "            self._due, self._fed = self._in(self.timeout_keep_alive), False\n",
        "            self._fed = False\n",
        (f"{BOUNDS}::test_a_connection_is_kept_no_longer_where_the_answer_came_before_the_body",),
    ),
    Defect(
        "control-for-any-token",
        "Any program of the machine moves the sandbox's money over its control.",
        "swapdesk/sandbox/http_server.py",
        "    if not hmac.compare_digest(given, token.encode()):\n",
        "    if not given:\n",
        ("tests/sandbox/test_node_process.py::test_strangers_are_refused",),
    ),
    Defect(
        "control-for-another-site",
        "A page of any site reaches the node and the control of whoever visits it.",
        "swapdesk/sandbox/http_server.py",
        "    if origin is not None and not _served(origin, hosts):\n",
        "    if origin is not None and not origin:\n",
        ("tests/sandbox/test_node_process.py::test_strangers_are_refused",),
    ),
)
