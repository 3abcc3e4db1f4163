"""Notifications that exchanges and bundlers send to the service (contract 15)."""

from pydantic import ConfigDict

from swapdesk.wire.encoding.ids import AskedId
from swapdesk.wire.model import RequestModel, WireModel


class WebhookPath(RequestModel):
    """Path parameters of a notification's URL. ``source`` is the sender: the code of a provider, or
    ``bundler``."""

    source: AskedId


class WebhookEvent(RequestModel):
    """A notification: an object without declared fields (contract 15.1). All its fields are in
    ``model_extra``."""

    model_config = ConfigDict(extra="allow")


class WebhookAcknowledgement(WireModel):
    """The answer to a notification: the event was accepted, now or earlier."""

    received: bool
