"""The desk's way to a service: typed calls (``api``) and the stream of order updates (``live``).

``transport`` is what every call goes through: deadlines, caps, credentials, when it is sent again,
the log of calls (``exchange_log``). ``budget`` counts calls against the limits, ``stream_socket``
reads what changed in a frame of the stream, ``sandbox_control`` asks the faucet of a sandbox.
"""
