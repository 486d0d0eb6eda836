"""`dbt build` again and again in one process: what ``alluvium run`` does."""
