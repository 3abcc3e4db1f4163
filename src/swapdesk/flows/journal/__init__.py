"""What the desk writes down before it acts: one file.

``journal`` is both of them: ``ledger``, whose acts mean what the rooms say that begin them, and
``order_log``. A file of an older version becomes one of this one when it is opened
(``journal_migration``).
"""
