"""Groups of a foreign Kafka, by its offsets log: a follower that reads it, and the state that tells what it says."""
