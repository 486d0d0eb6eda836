"""Histories that once failed, as small as they could be made. Every run plays them beside the random ones.

They are of a table that begins with a snapshot, is truncated (the truncate arrives in the second round) and is
snapshotted anew (in the third).
"""

from __future__ import annotations

from .database import Command, Epoch, Transaction

ANN = Command("insert", 1, values={"name": "ann", "size": 1})

FULL: dict[str, tuple[Epoch, ...]] = {
    # What the update left and what it found look alike, so that nothing says which of the two rows is gone.
    "the row that goes is updated to what it was": (
        Epoch((Transaction((Command("replace", 1, (-1,), {"name": "bob", "size": 2}),)),), (ANN,)),
        Epoch(),
        Epoch(),
    ),
    # In the first round the delete leaves the row from before the truncate, of which nobody knows yet.
    "a truncate comes later than a row that took the key of a truncated one": (
        Epoch((), (ANN,)),
        Epoch((Transaction((Command("insert", 1, values={"name": "bob"}), Command("delete", 1))),)),
        Epoch(),
    ),
    # The newest event of the key is the delete of the other row; what ended this one is the truncate.
    "a row outlives the delete under its key and is truncated": (
        Epoch((Transaction((Command("replace", 1, values={"name": "bob"}),)),), (ANN,)),
        Epoch(),
        Epoch(),
    ),
}
