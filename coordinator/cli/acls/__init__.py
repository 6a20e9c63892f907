"""`coordinator acls VERB`: access rules (ACLs), here and for any Kafka, as kafka-acls does."""
