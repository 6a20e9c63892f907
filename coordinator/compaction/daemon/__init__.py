"""The daemon's side of compaction: makes plans, checks results and swaps segments while clients are served.

`coordinator.compaction.rules` decides what survives, `coordinator.storage.log` how segments are swapped. This package
decides when, and keeps the work off the event loop: threads read the small files, child processes hash and check, and
the thread that writes the logs swaps their segments.
"""
