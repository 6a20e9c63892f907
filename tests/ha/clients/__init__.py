"""Clients, each a process, that commit, fetch and join while the cluster suffers, and write all of it down."""
