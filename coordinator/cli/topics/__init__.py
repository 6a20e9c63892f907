"""`coordinator topics VERB`: what kafka-topics and kafka-configs do for topics, here and for any Kafka."""
