"""Work that is reviewed, signed, sent and followed to its end.

Work asks through a ``signing_session`` and waits. The signing screen shows the session and answers
for the open review and no other; it may be closed while the work goes on. The running sessions are
kept there too; ``review_words`` puts a review into words. A screen adds nothing to what the agent
judged.
"""
