"""What the desk writes down before it acts: one file, and a log for each kind of act.

``journal`` is all of them: ``ledger`` (with ``creates``), ``order_log``,
``bundle_log``, ``wallet_payment_log`` and ``outgoing_writes``. ``transaction_log`` reads the
transactions of an order out of them, ``order_merge`` makes one order of several sightings. A file
of an older version becomes one of this one when it is opened (``journal_migration``).
"""
