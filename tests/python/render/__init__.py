"""The macros, rendered without Spark or a database, and the rules of the project that need neither."""
