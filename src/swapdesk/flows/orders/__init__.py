"""Derives what an order means from its states.

``order_merge`` makes one order of the states that several sources report, and ``order_fields``
derives values from its fields. ``situations`` is the table of all situations with their texts, and
``order_status`` makes an ``OrderStatus`` of an order, its intent, its payments and the time.
``payment_progress`` describes a payment by this desk until the service has seen it, and
``deposit_destination`` says what to send and where it went. All other modules render an
``OrderStatus`` or sort orders by it.
"""
