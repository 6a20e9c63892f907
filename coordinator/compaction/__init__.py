"""Compaction of the offsets log, offline from the server: the newest record of each key survives, in Kafka's own way.

`rules.py` defines what survives; `plain.py` does it one record at a time; `kernel.py` and `cleaner.py` do it in
columns; `spark_*.py` spread it over a cluster. `plan.py`, `handover.py` and `validate.py` bring the result back to a
daemon that never stopped. The server imports `plan.py` and `handover.py` at most: nothing that needs numpy, pyarrow or
Spark.
"""

COMPACTION_DIR = "compaction"
"""In a data directory: requests, answers, and the jobs with their plans."""
