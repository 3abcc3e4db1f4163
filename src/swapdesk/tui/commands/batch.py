"""Verbs of the batch."""

from swapdesk.tui.commands.command import Verb

BATCH = Verb(
    "batch",
    "b",
    "batch",
    "Many recipients from one file.",
    writes=True,
    place=30,
    opens="swapdesk.tui.screens.batch.BatchScreen",
)
LOAD_FILE = Verb("load-file", "l", "load a file", "Load a file of recipients.")
NEXT_PROBLEM = Verb(
    "next-problem",
    "right_square_bracket",
    "next problem",
    "The next row with a problem, else the next one to look at.",
    act="to_problem",
    given=(1,),
)
PREVIOUS_PROBLEM = Verb(
    "previous-problem",
    "left_square_bracket",
    "problem before",
    "The row with a problem before this one.",
    footer=False,
    act="to_problem",
    given=(-1,),
)
EDIT_ROW = Verb(
    "edit-row", "enter", "edit row", "Write a cell of this row anew; tab takes another column."
)
SKIP_ROW = Verb(
    "skip-row",
    "minus",
    "skip row",
    "Leave this row out of what is created, or take it in again.",
    current=True,
)
DECIMAL_COMMA = Verb(
    "decimal-comma",
    "comma",
    "read decimal commas",
    "Read the comma of every amount as a decimal point, where nothing else is wrong.",
)
CREATE_BATCH = Verb(
    "create-batch",
    "c",
    "create",
    "Create an order for every row. Nothing is paid by it.",
    writes=True,
    money=True,
)
BUILD_BUNDLE = Verb(
    "build-bundle",
    "u",
    "build",
    "Ask the service what pays the deposits of a group, and compare it. Nothing is paid by it.",
    writes=True,
    act="pay",
    given=("BUILT",),
)
SIGN_BUNDLE = Verb(
    "sign-bundle",
    "s",
    "sign",
    "Build and show what is to be signed, one review after another; there s signs, x refuses.",
    writes=True,
    act="pay",
    given=("SIGNED",),
)
SUBMIT_BUNDLE = Verb(
    "submit-bundle",
    "c",
    "submit",
    "Hand in the bundle that was signed: it pays the deposits, once.",
    writes=True,
    money=True,
    act="pay",
    given=("SETTLED",),
)
FAILED_AGAIN = Verb(
    "failed-again",
    "r",
    "failed rows again",
    "Take the rows for which no order exists, to put them right and create them again.",
)
BACK_TO_BATCH = Verb(
    "back-to-batch",
    "r",
    "back to its batch",
    "Back to the batch that these rows failed in, which is still to be paid.",
)
EXPORT_BATCH = Verb(
    "export-batch",
    "x",
    "export",
    "Write the results, one line for each row that was created; before them a template.",
)
ORDERS = Verb(
    "orders",
    "o",
    "orders",
    "The orders of this batch in the tracker, once there are some; all orders before.",
)
TAKE_CELL = Verb("take-cell", "enter", "take", "Take what is written.")
COMPLETE_PATH = Verb(
    "complete-path",
    "tab",
    "complete",
    "Complete the name of the file as far as it is clear, then go through what fits.",
)
FILE_BELOW = Verb(
    "file-below",
    "down",
    "files",
    "Write the next of the last files, or of the names that fit.",
    shown="↑↓",
    act="step_file",
    given=(1,),
)
FILE_ABOVE = Verb(
    "file-above",
    "up",
    "file before",
    "Write the one before.",
    footer=False,
    act="step_file",
    given=(-1,),
)
OTHER_COLUMN = Verb("other-column", "tab", "other column", "Another column of this row.")
LEAVE_CELL = Verb("leave-cell", "escape", "leave", "Leave the cell as it was.")
