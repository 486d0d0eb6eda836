"""A cluster of Amazon EMR: its CloudFormation stack, the project in its bucket, the logs of its steps."""
