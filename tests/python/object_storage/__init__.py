"""Files and tables in object storage, through hadoop-aws, against an S3 server of this machine."""
