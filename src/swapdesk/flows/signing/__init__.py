"""Work that is reviewed, signed, sent and followed to its end.

Work shows its reviews in a ``signing_session`` and waits for the answers. The signing screen shows
the session and answers for the open review only; it may be closed while the work goes on.
``signing_session`` also keeps the running sessions; ``review_words`` puts a review into words. A
screen adds no judgement to that of the wallet agent.
"""
