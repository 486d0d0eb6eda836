"""Comparison of the silver tables with the true table contents that were recorded beside real Debezium captures.

A folder of captures holds one folder per corpus: ``bronze/<layout>/`` with the files of an S3 sink, and ``oracle/``
with the rows that every table held at several positions of the stream. The tests land the files of a corpus up to a
position, run dbt, and compare each living table with the oracle cell by cell.
"""
