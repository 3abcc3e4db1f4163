"""The desk's access to a service: typed calls (``api``) and the stream of order updates (``live``).

Every call goes through ``transport``, which applies deadlines, size limits, credentials and the
rules for repeating a call; ``exchange_log`` keeps the log of calls. ``budget`` counts calls against
the limits of the service. ``stream_socket`` receives the stream and decodes only the parts of an
order that changed. ``sandbox_control`` uses the control operations of a sandbox.
"""
