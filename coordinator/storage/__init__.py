"""All access to the disk: logs, snapshots, the catalogue of topics, and the data directory."""
