"""One line of the log for every request: the route, never a value of the caller's."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass

from swapdesk.service.rate_windows import Admission

_log = logging.getLogger("swapdesk.service.requests")


@dataclass
class Seen:
    """What the log line of a request needs to know."""

    request_id: str
    route: str = "-"
    partner: str | None = None
    status: int = 0
    admission: Admission | None = None

    def log(self, method: str, seconds: float) -> None:
        """Write the line, where the log takes it."""
        if not _log.isEnabledFor(logging.INFO):
            return
        line = {
            "method": method,
            "route": self.route,
            "status": self.status,
            "ms": round(seconds * 1000, 1),
            "requestId": self.request_id,
            "partner": self.partner,
        }
        _log.info(json.dumps(line))
