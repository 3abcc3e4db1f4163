"""What the desk writes to disk before it acts, in one file. A ``journal`` consists of the
``ledger`` of operations, whose meaning is defined by the modules that begin them, and of the
``order_log``. A file of an older version is migrated when it is opened (``journal_migration``)."""
