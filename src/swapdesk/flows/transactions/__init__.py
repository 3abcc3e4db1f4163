"""Signed transactions: one engine for everything that the wallet signs.

A step of a swap, an approval, a deposit, what fills a smart account, a part of a batch, a
revocation, a withdrawal, a cancellation and a higher fee are the same thing: a
:class:`~.transactor.SignedAction`. It has a purpose, the id of its intent, a way to be made and
reviewed, and an :class:`~.transactor.Entry` in the journal. Its life has four steps, all of the
:class:`~.transactor.Transactor`:

=========  ========================================================  ==========================
step       what happens                                              what stands afterwards
=========  ========================================================  ==========================
propose    the payload is made and the wallet agent judges it        a Proposal: payload, review
agree      the trader looks and says yes; what changed meanwhile     a signature, not journaled
           is reviewed and shown again
confirm    the journal's entry, the signature, its hash in the       a SignedTransaction
           journal; no byte has left
follow     the same bytes are sent until the transaction is final,   how far it came, committed
           however long that takes and whoever began it
=========  ========================================================  ==========================

After a kill ``resume`` finds in the agent's records what was signed, and ``follow`` goes on with
it. Nothing that stands there is signed a second time. The agent writes a transaction down before
it answers, so these records decide, and the journal is brought up to them.

An entry is marked refused only when it is certain that nothing was signed under it:

- the trader said no, or the gate or the agent refused: refused;
- the agent is gone: unknown, its records tell later: the entry stays;
- ``ALREADY_SIGNED``: the records have one for this intent: the entry stays and is followed;
- ``READ_ONLY``: another desk has the wallet. An entry that this run began is refused, since
  nobody else knows of it. One that was found stays: the other desk may be signing for it.

Every kind of action tells its end as an :class:`~.outcome.Outcome`: done, refused or open.

``transactor`` reviews, signs and journals; ``delivery`` is the one loop that sends, and says
which of several transactions on one nonce counts; ``outcome`` is how it ended.
"""
