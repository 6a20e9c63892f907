"""The Spark session and the Spark data source, shared by compaction and history."""
