"""History: the records of the offsets log, kept as Parquet beyond compaction, and the questions they answer."""
