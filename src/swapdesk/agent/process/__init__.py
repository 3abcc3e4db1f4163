"""The process with the keys: how it shuts itself off, hears the desk and answers it.

``confinement`` comes first, ``pipe`` carries frames, ``service`` has the table of what may be
asked, with the answers in ``key_requests``, ``signing_requests``, ``deliveries`` and
``chain_requests``. ``opened`` is the wallet of a profile, ``wallet`` the keys of it that are
open. ``reviewing`` is the way from a payload to a review to a signature: ``looking`` reads chain
and gate, ``signing`` writes down and signs.
"""
