"""Notifications of venues and bundlers to the service (contract 15)."""

from pydantic import ConfigDict

from swapdesk.wire.encoding.ids import AskedId
from swapdesk.wire.model import RequestModel, WireModel


class WebhookPath(RequestModel):
    """``source`` is who sends: the code of a provider, or ``bundler``."""

    source: AskedId


class WebhookEvent(RequestModel):
    """An open object without declared fields (contract 15.1); ``model_extra`` has them all."""

    model_config = ConfigDict(extra="allow")


class WebhookAcknowledgement(WireModel):
    """The event was taken, now or before."""

    received: bool
