"""The desk's way to a service: typed calls (``api``) and the stream of order updates (``live``).

``transport`` is what every call goes through: deadlines, caps, credentials, the log of calls
(``exchange_log``). ``retry`` says when a call is sent again, ``budget`` counts calls against the
limits, ``order_frames`` reads what changed in a frame of the stream, ``sandbox_control`` asks the
faucet of a sandbox.
"""
