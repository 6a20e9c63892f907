"""Compaction of the offsets log outside the server process: the newest record of each key survives, by Kafka's rules.

`rules.py` defines what survives. `column_compaction.py` applies the rules in columns (`coordinator.columnar`), and
`spark_*.py` do so on a cluster. `planning.py` makes the plan of a job, `validate.py` checks its result, and
`swap_protocol.py` swaps the segments of a log that is being served. The server imports nothing here that needs numpy,
pyarrow or Spark.
"""
