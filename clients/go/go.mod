module kafka-group-coordinator/clients/go

go 1.21
