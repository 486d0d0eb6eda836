"""Benchmarks: what a run costs, beside a plain PySpark script that does the same."""
