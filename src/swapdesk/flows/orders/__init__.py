"""What an order means.

``order_merge`` makes one order of several sightings, ``order_fields`` derives values from its
fields. ``situations`` is the table of all situations with their texts, and ``order_status`` makes
an ``OrderStatus`` of an order, its intent, its payments and the time. ``payment_progress`` is this
desk's own payment until the service has seen it, ``deposit_destination`` what to send and where it
went. Everything else renders an ``OrderStatus`` or sorts orders by it.
"""
