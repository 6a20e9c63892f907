"""History: what the offsets log said before compaction forgot it, as Parquet tables that answer questions."""
