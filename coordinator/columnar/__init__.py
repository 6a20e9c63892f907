"""Kafka log segments as numpy and Arrow columns; shared by compaction and history.

Three places cut records out of a batch, each for its own speed. `protocol.record_batch.read_records` returns whole
records and is the definition. `coordinator.core.offsets.raw_records.absorb` puts commits into the tables of the replay
at start, without an object for each record and without numpy. `kernel.read_records` returns columns for all batches of
a segment at once. Where speed does not matter, use the first. The other two are compared with it on random logs, by
tests/columnar/test_kernel.py and tests/compaction/test_validate.py.
"""
