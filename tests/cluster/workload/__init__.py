"""Clients that work against a cluster while it suffers, write down what they were promised, and are asked afterwards.

`runner.py` is one library's clients in one place (a container, or a process tree of a test): a producer, members of the
library's own group, a member of a group that all libraries share. It starts them as processes, starts one again that
ended its own life as planned, and notes any other end. `member.py` and `producer.py` are these processes, `diary.py` is
what they write, `promises.py` reads the diaries of all and asks the cluster whether it kept its word.
"""
