"""The desk's way to a service: typed calls (``api``) and the stream of order updates (``live``).

``transport`` is what every call goes through: deadlines, caps, credentials, the log of calls.
"""
