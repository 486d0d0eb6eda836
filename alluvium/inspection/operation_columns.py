"""Columns in which common tools say what has happened to a row."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Convention:
    """How a tool marks deletes in a column.

    Attributes:
        tool: that writes it.
        columns: its names, in any case.
        source: where it is documented.
        deletes: its values for deletes, in any case; none for a flag, or for a time of deletion.
        others: its values for all else that becomes a row.
        before: its values for images of before an update.
        is_time: whether it is NULL unless the row is deleted.
        condition: in SQL, with ``{}`` for the column, where its values are not enough; likewise `before_condition`.
    """

    tool: str
    columns: tuple[str, ...]
    source: str
    deletes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    is_time: bool = False
    condition: str | None = None
    before_condition: str | None = None

    def is_of(self, name: str) -> bool:
        """Whether a column is called so."""
        return name.lower() in map(str.lower, self.columns)


_IUD = (("D",), ("I", "U"))
CONVENTIONS = (
    Convention("Qlik Replicate", ("header__change_oper",),
        "https://help.qlik.com/en-US/replicate/Content/Replicate/Main/Store%20Changes/change_tables.htm", *_IUD,
        before=("B",)),
    Convention("Delta's change data feed, Iceberg's changelog, BigQuery", ("_change_type",),
        "https://docs.delta.io/latest/delta-change-data-feed.html", ("delete",),
        ("insert", "update", "upsert", "update_postimage", "update_after"),
        before=("update_preimage", "update_before")),
    Convention("SQL Server's capture tables", ("__$operation",),
        "https://learn.microsoft.com/sql/relational-databases/system-tables/cdc-capture-instance-ct-transact-sql",
        ("1",), ("2", "4"), before=("3",)),
    Convention("SQL Server's change tracking", ("SYS_CHANGE_OPERATION",),
        "https://learn.microsoft.com/sql/relational-databases/system-functions/changetable-transact-sql", *_IUD),
    Convention("AWS DMS", ("Op",), "https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Target.S3.html", *_IUD),
    Convention("Fivetran", ("_fivetran_deleted",),
        "https://fivetran.com/docs/core-concepts/system-columns-and-tables"),
    Convention("Airbyte", ("_ab_cdc_deleted_at",), "https://docs.airbyte.com/understanding-airbyte/cdc", is_time=True),
    Convention("Stitch, Singer", ("_sdc_deleted_at",), "https://www.stitchdata.com/docs/", is_time=True),
    Convention("Hevo", ("__hevo__marked_deleted",), "https://docs.hevodata.com/"),
    Convention("Hudi", ("_hoodie_operation",), "https://hudi.apache.org/docs/writing_data", ("D",), ("I", "U"),
        before=("-U",)),
    Convention("Hudi", ("_hoodie_is_deleted",), "https://hudi.apache.org/docs/writing_data"),
    Convention("Flink, Paimon", ("rowkind", "row_kind", "_rowkind", "_row_kind"),
        "https://paimon.apache.org/docs/master/concepts/system-tables/", ("-D",), ("+I", "+U"), before=("-U",)),
    Convention("GoldenGate", ("op_type", "optype", "gg_op_type"),
        "https://docs.oracle.com/en/middleware/goldengate/big-data/", ("D", "DELETE"),
        ("I", "U", "R", "K", "INSERT", "UPDATE", "SQL COMPUPDATE", "PK UPDATE")),
    Convention("Oracle's change tables", ("OPERATION$",),
        "https://docs.oracle.com/cd/E11882_01/server.112/e25554/cdc.htm", ("D",), ("I", "UN"), before=("UO", "UU")),
    Convention("IBM InfoSphere CDC", ("ENTTYP", "A_ENTTYP", "DM_ENTTYP", "&ENTTYP"),
        "https://www.ibm.com/docs/en/idr/11.4.0?topic=fields-journal-control", ("DL", "DR"),
        ("PT", "PX", "UP", "UR", "RR"), before=("UB", "UF")),
    Convention("IBM Db2 replication", ("IBMSNAP_OPERATION",),
        "https://www.ibm.com/docs/en/idr/11.4.0?topic=structures-cd-table", *_IUD),
    Convention("Informatica PowerExchange", ("DTL__CAPXACTION",), "https://docs.informatica.com/", *_IUD),
    Convention("SAP ODP", ("ODQ_CHANGEMODE",), "https://help.sap.com/docs/", ("D",), ("C", "U", "")),
    Convention("SAP BW", ("RECORDMODE", "0RECORDMODE", "ROCANCELRECORD"), "https://help.sap.com/docs/", ("D", "R"),
        ("", "N", "A"), before=("X",)),
    Convention("SAP ODP", ("ODQ_ENTITYCNTR",), "https://help.sap.com/docs/", ("-1",), ("0", "1")),
    Convention("ClickHouse, Materialize", ("sign", "_sign", "mz_diff"),
        "https://clickhouse.com/docs/engines/table-engines/mergetree-family/collapsingmergetree", ("-1",), ("1",)),
    Convention("SAP SLT", ("OPERATION_FLAG", "IUUT_OPERAT_FLAG"), "https://help.sap.com/docs/", *_IUD),
    Convention("SAP Datasphere", ("__operation_type",), "https://help.sap.com/docs/", ("D", "X"), ("I", "U", "L"),
        before=("B",)),
    Convention("Striim", ("OperationName",), "https://www.striim.com/docs/", ("DELETE",), ("INSERT", "UPDATE")),
    Convention("HVR", ("hvr_op",), "https://fivetran.com/docs/hvr6", ("0", "8"), ("1", "2"), before=("3", "4")),
    Convention("Google Datastream", ("_metadata_change_type",),
        "https://cloud.google.com/datastream/docs/events-and-streams", ("DELETE",),
        ("INSERT", "UPDATE", "UPDATE-INSERT"), before=("UPDATE-DELETE",)),
    Convention("Snowflake's streams", ("METADATA$ACTION",), "https://docs.snowflake.com/en/user-guide/streams-intro",
        ("DELETE",), ("INSERT",), condition="{} = 'DELETE' and not `METADATA$ISUPDATE`",
        before_condition="{} = 'DELETE' and `METADATA$ISUPDATE`"),
)  # fmt: skip
"""By tool; what is in none of them is recognised by words and names (operations)."""

_OF_TOOLS = re.compile(
    r"_airbyte_|_ab_cdc_|_fivetran_|_sdc_|_hoodie_|_dlt_|__hevo__|_metadata_|_peerdb_|header__|hvr_|__\$|metadata\$",
    re.IGNORECASE,
)
_LOADED = re.compile(
    r"(_airbyte_(extracted|emitted|loaded|normalized)|_sdc_(batched|extracted|received)|__hevo__(ingested|loaded)"
    r"|_peerdb_synced)_at|_fivetran_synced",
    re.IGNORECASE,
)
# What a tool numbers the changes by, as sorts.
_SEQUENCES = ("_ab_cdc_lsn", "_sdc_sequence", "header__change_seq", "hvr_integ_seq")


def is_of_tool(name: str) -> bool:
    """Whether a tool has added a column to each row: it tells events apart, and no rows of the source."""
    return _OF_TOOLS.match(name) is not None


def is_time_of_loading(name: str) -> bool:
    """Whether a column says when a tool has loaded a row, which is not when the row was changed."""
    return _LOADED.fullmatch(name) is not None


def is_sequence(name: str) -> bool:
    """Whether a tool numbers the changes in a column."""
    return name.lower() in _SEQUENCES
