"""Verbs of the batch."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command, EverywhereCommand


class Batch(EverywhereCommand):
    """Many recipients from one file."""

    WRITES = True
    KEY = "b"
    VERB = "batch"
    PLACE = 30
    OPENS = "swapdesk.tui.screens.batch.BatchScreen"


class LoadFile(Command):
    """Load a file of recipients."""

    KEY = "l"
    VERB = "load a file"


class NextProblem(Command):
    """The next row with a problem, else the next one to look at."""

    KEY = "right_square_bracket"
    SHOWN_KEY = "]"
    VERB = "next problem"


class PreviousProblem(Command):
    """The row with a problem before this one."""

    KEY = "left_square_bracket"
    SHOWN_KEY = "["
    VERB = "problem before"
    FOOTER = False


class EditRow(Command):
    """Write a cell of this row anew; tab takes another column."""

    KEY = "enter"
    VERB = "edit row"


class SkipRow(Command):
    """Leave this row out of what is created, or take it in again."""

    KEY = "minus"
    SHOWN_KEY = "-"
    VERB = "skip row"


class DecimalComma(Command):
    """Read the comma of every amount as a decimal point, where nothing else is wrong."""

    KEY = "comma"
    SHOWN_KEY = ","
    VERB = "read decimal commas"


class CreateBatch(Command):
    """Create an order for every row. Nothing is paid by it."""

    WRITES = True
    KEY = "c"
    VERB = "create"
    MONEY = True


class BuildBundle(Command):
    """Ask the service what pays the deposits of a group, and compare it. Nothing is paid by it."""

    WRITES = True
    KEY = "u"
    VERB = "build"


class SignBundle(Command):
    """Build and show what is to be signed, one review after another; there s signs, x refuses."""

    WRITES = True
    KEY = "s"
    VERB = "sign"


class SubmitBundle(Command):
    """Hand in the bundle that was signed: it pays the deposits, once."""

    WRITES = True
    KEY = "c"
    VERB = "submit"
    MONEY = True


class FailedAgain(Command):
    """Take the rows for which no order exists, to put them right and create them again."""

    KEY = "r"
    VERB = "failed rows again"


class BackToBatch(Command):
    """Back to the batch that these rows failed in, which is still to be paid."""

    KEY = "r"
    VERB = "back to its batch"


class ExportBatch(Command):
    """Write the results, one line for each row that was created; before them a template."""

    KEY = "x"
    VERB = "export"


class Orders(Command):
    """The orders of this batch in the tracker, once there are some; all orders before."""

    KEY = "o"
    VERB = "orders"


class TakeCell(Command):
    """Take what is written."""

    KEY = "enter"
    VERB = "take"


class CompletePath(Command):
    """Complete the name of the file as far as it is clear, then go through what fits."""

    KEY = "tab"
    VERB = "complete"


class FileBelow(Command):
    """Write the next of the last files, or of the names that fit."""

    KEY = "down"
    SHOWN_KEY = "↑↓"
    VERB = "files"


class FileAbove(Command):
    """Write the one before."""

    KEY = "up"
    SHOWN_KEY = "↑"
    VERB = "file before"
    FOOTER = False


class OtherColumn(Command):
    """Another column of this row."""

    KEY = "tab"
    VERB = "other column"


class LeaveCell(Command):
    """Leave the cell as it was."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "leave"
