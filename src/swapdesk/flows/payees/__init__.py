"""Who is paid: the address book, address checks without a call, and first payments.

``recipients`` checks recipient, refund address and memo by the decoder and by the service's
pattern, and asks before an address is paid for the first time. ``address_book`` keeps names in a
file that its user may edit.
"""
