"""Who is paid: the address book, checks of addresses without a network call, and a question before
the first payment to an address.

``recipients`` checks recipient, refund address and memo, by the desk's own decoder of addresses and
by the service's pattern. ``address_book`` keeps names in a file that the user may edit.
"""
