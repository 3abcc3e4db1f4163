"""Something while it is looked at, signed, sent, and followed to its end.

Work asks through a ``signing_session`` and waits. The screen that signs shows the session and
answers for the review that is open and no other; it may be closed while the work goes on. The
sessions of a run are kept there too; ``review_words`` writes a review down. A screen adds nothing
to what the agent judged.
"""
