"""Several processes as one daemon: a supervisor, and workers that are the nodes of a cluster on one machine."""
