"""Spark's Thrift server over the embedded session, and connections to one."""
