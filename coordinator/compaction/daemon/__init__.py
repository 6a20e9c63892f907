"""The daemon's side of compaction: plans are made, results are judged and put in place, while clients are served.

Nothing here decides what survives (`coordinator.compaction.rules`) or how segments are replaced
(`coordinator.storage.log`); here it is decided when, and that the event loop does not feel it. Files are looked at in
threads, hashing and checking happen in child processes, segments are exchanged by the thread that writes them.
"""
