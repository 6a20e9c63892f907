"""`coordinator groups VERB`: what kafka-consumer-groups does, for this coordinator and for any Kafka."""
