// The program of franz-go for the matrix of transactions.
package main

import (
	"context"
	"errors"

	"coordinator/tests/clients/transactions/told"

	"github.com/twmb/franz-go/pkg/kgo"
)

type producer struct {
	client   *kgo.Client
	settings told.Settings
}

func main() {
	settings := told.Arguments()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(settings.Bootstrap),
		kgo.DefaultProduceTopic(settings.Topic),
		kgo.TransactionalID(settings.TransactionalID),
		kgo.TransactionTimeout(settings.Timeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0),
	)
	if err != nil {
		panic(err)
	}
	told.Run(&producer{client, settings})
}

func (p *producer) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), p.settings.Patience)
}

func (p *producer) Init() error {
	within, end := p.within()
	defer end()
	_, _, err := p.client.ProducerID(within)
	return err
}

func (p *producer) Begin() error { return p.client.BeginTransaction() }

func (p *producer) Send(partition int32, value string) error {
	within, end := p.within()
	defer end()
	return p.client.ProduceSync(within, &kgo.Record{Partition: partition, Value: []byte(value)}).FirstErr()
}

func (p *producer) Offsets(string, int64) error {
	return errors.New("offsets are sent by a GroupTransactSession")
}

func (p *producer) Commit() error { return p.end(kgo.TryCommit) }

func (p *producer) Abort() error { return p.end(kgo.TryAbort) }

func (p *producer) end(how kgo.TransactionEndTry) error {
	within, end := p.within()
	defer end()
	if err := p.client.Flush(within); err != nil {
		return err
	}
	return p.client.EndTransaction(within, how)
}
