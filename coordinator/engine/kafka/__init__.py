"""Engine on Kafka: the offsets log is a topic of an Apache Kafka cluster, and so are the nodes and the owners."""
