"""Compaction of the offsets log, offline from the server: the newest record of each key survives, in Kafka's own way.

`rules.py` defines what survives; `cleaner.py` does it in columns (`coordinator.columnar`); `spark_*.py` spread it over
a cluster. `plan.py`, `swap_protocol.py` and `validate.py` bring the result back to a daemon that never stopped. The
server imports `plan.py` and `swap_protocol.py` at most: nothing that needs numpy, pyarrow or Spark.
"""
