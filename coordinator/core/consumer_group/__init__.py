"""Consumer groups of the newer protocol (KIP-848): the coordinator assigns partitions, members follow one by one."""
