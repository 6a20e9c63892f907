"""Child processes of the daemon: their start, their end, and the frames they exchange with it.

Three formats connect processes. A child and the daemon exchange `marshal` frames over pipes (`frames.py`): both ends
are one program in one Python, and rows from memory take a tenth of the time that JSON takes. Workers and their
supervisor exchange JSON lines (`coordinator.workers.messages`): one line per scrape, readable in a trace. The daemon
and a compaction job exchange JSON files: the job may be another installation and may outlive the daemon, so its files
are validated before use.
"""
