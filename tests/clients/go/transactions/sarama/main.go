// The program of sarama for the matrix of transactions.
package main

import (
	"coordinator/tests/clients/transactions/told"

	"github.com/IBM/sarama"
)

type producer struct {
	settings told.Settings
	producer sarama.SyncProducer
}

func main() {
	told.Run(&producer{settings: told.Arguments()})
}

// Init makes the producer, which looks for its coordinator and takes an epoch.
func (p *producer) Init() error {
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Net.MaxOpenRequests = 1
	config.Producer.Idempotent = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Transaction.ID = p.settings.TransactionalID
	config.Producer.Transaction.Timeout = p.settings.Timeout
	made, err := sarama.NewSyncProducer([]string{p.settings.Bootstrap}, config)
	p.producer = made
	return err
}

func (p *producer) Begin() error { return p.producer.BeginTxn() }

func (p *producer) Send(partition int32, value string) error {
	_, _, err := p.producer.SendMessage(&sarama.ProducerMessage{
		Topic: p.settings.Topic, Partition: partition, Value: sarama.StringEncoder(value),
	})
	return err
}

func (p *producer) Offsets(group string, offset int64) error {
	one := &sarama.PartitionOffsetMetadata{Partition: 0, Offset: offset}
	return p.producer.AddOffsetsToTxn(map[string][]*sarama.PartitionOffsetMetadata{p.settings.Topic: {one}}, group)
}

func (p *producer) Commit() error { return p.producer.CommitTxn() }

func (p *producer) Abort() error { return p.producer.AbortTxn() }
