"""What the Debezium connector for MongoDB says of collections whose documents are written down here.

`capture.mode=change_streams_update_full_with_pre_image`: an update has the whole document before and after it, a delete
the one before. Source: Debezium's documentation of the connector, 2.5.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from scripts.samples.connect import Row, milliseconds

VERSION: Final = "2.5.4.Final"
Document = Mapping[str, Any]


def extended_json(document: Document) -> str:
    """A document as the connector writes it: strict Extended JSON in one line, a blank after each colon."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ": "))


@dataclass
class Collection:
    """A collection, and the envelopes that its connector has sent.

    Attributes:
        prefix: `topic.prefix`.
        database: its database.
        name: of the collection, may have dots.
        documents: those that it holds, by the text of their id.
        sent: the envelopes, oldest first.
    """

    prefix: str
    database: str
    name: str
    documents: dict[str, Document] = field(default_factory=dict)
    sent: list[Row] = field(default_factory=list)

    @property
    def topic(self) -> str:
        """`<prefix>.<database>.<collection>`."""
        return f"{self.prefix}.{self.database}.{self.name}"

    def read(self, document: Document, at: datetime, *, last: bool = False) -> None:
        """A document of the initial snapshot."""
        self._send("r", None, document, at, "last" if last else "true")

    def save(self, document: Document, at: datetime, *, number: int = 1) -> None:
        """What a repository's `save` does: an insert, or a whole document in the place of the one before.

        Args:
            document: with its `_id`.
            at: the cluster time, a whole second.
            number: of the change in that second.
        """
        before = self.documents.get(_identity(document))
        self._send("u" if before else "c", before, document, at, "false", number)

    def delete(self, identity: str, at: datetime, *, number: int = 1) -> None:
        """Takes a document out."""
        self._send("d", self.documents[identity], None, at, "false", number)

    def _send(
        self, op: str, before: Document | None, after: Document | None, at: datetime, snapshot: str, number: int = 1
    ) -> None:
        assert at.microsecond == 0, at
        document = after or before
        assert document is not None
        if after is None:
            del self.documents[_identity(document)]
        else:
            self.documents[_identity(document)] = after
        self.sent.append(
            {
                "before": None if before is None else extended_json(before),
                "after": None if after is None else extended_json(after),
                "updateDescription": None,
                "source": {
                    "version": VERSION,
                    "connector": "mongodb",
                    "name": self.prefix,
                    "ts_ms": milliseconds(at),
                    "snapshot": snapshot,
                    "db": self.database,
                    "sequence": None,
                    "collection": self.name,
                    "ord": number,
                    "lsid": None,
                    "txnNumber": None,
                    "wallTime": None,
                },
                "op": op,
                "ts_ms": milliseconds(at) + 187,
                "transaction": None,
            }
        )


def _identity(document: Document) -> str:
    return str(document["_id"]["$oid"])
