"""``metrics.md``: what an operator sees of a service."""

from __future__ import annotations

from swapdesk.service.metrics import FAMILIES
from swapdesk.service.observation import MEMBERS

from .markdown import code, codes, page, section, table


def metrics_page() -> str:
    return page(
        "Metrics and log",
        "What a service of `swapdesk serve --config` tells whoever runs it. The tables `[metrics]`"
        " and `[log]` of its file are in the"
        " [operator's guide](../guide/operator.md#6-watching-a-service).",
        section(
            "Metrics",
            "`GET /metrics`, in the text format of Prometheus. Labels are names of operations,"
            " states, venues and chains: nothing that a caller sends makes a series. A gauge that"
            " cannot be told now has no sample.",
            table(
                ("Name", "Kind", "Labels", "Says"),
                [
                    (code(name), family.kind, codes(family.labels), family.help)
                    for name, family in FAMILIES.items()
                ],
            ),
        ),
        section(
            "Log",
            "One line of JSON in ASCII on standard error for each request, each transition of an"
            " order and each message. No line has a header, a body, a query or a secret.",
            *(
                section(
                    f"Members of {event}" if event == "every line" else f"Members of a {event}",
                    table(
                        ("Member", "Says"), [(code(name), about) for name, about in members.items()]
                    ),
                    level=3,
                )
                for event, members in MEMBERS.items()
            ),
        ),
    )
