"""Child processes of the daemon: how they are started, how they end with it, and the frames they exchange."""
