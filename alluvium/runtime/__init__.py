"""What a Spark session is made of: Java, jars, the settings of a dbt profile, object storage, a cluster."""
