// A consumer of sarama, spoken to as tests/clients/matrix_members.py describes.
package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"coordinator/tests/clients/talk"

	"github.com/IBM/sarama"
)

// handler keeps the running session: a commit is one of its methods.
type handler struct {
	mutex   sync.Mutex
	session sarama.ConsumerGroupSession
}

func (h *handler) Setup(session sarama.ConsumerGroupSession) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.session = session
	return nil
}

func (h *handler) Cleanup(sarama.ConsumerGroupSession) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.session = nil
	return nil
}

// ConsumeClaim runs for as long as the partition is ours, with eager and with cooperative assignors.
func (h *handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	partition := []int32{claim.Partition()}
	talk.Changed("assigned", partition)
	defer talk.Changed("revoked", partition)
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			session.MarkMessage(message, "")
			talk.Record(message.Partition, message.Offset)
		case <-session.Context().Done():
			return nil
		}
	}
}

func (h *handler) commit() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.session == nil {
		talk.Error(errors.New("no session to commit in"))
		return
	}
	begun := talk.Now()
	h.session.Commit() // it returns nothing: failures come as errors of the group
	talk.Committed(begun)
}

func main() {
	options := talk.Options()
	talk.Run(func(serve func(commit func())) { live(options, serve) })
}

func live(options map[string]string, serve func(commit func())) {
	settings := sarama.NewConfig()
	settings.Version = sarama.MaxVersion
	settings.ClientID = options["name"]
	settings.Consumer.Group.Session.Timeout = talk.Milliseconds(options["session_ms"])
	settings.Consumer.Group.Heartbeat.Interval = talk.Milliseconds(options["heartbeat_ms"])
	settings.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
	if options["assignor"] == "cooperative-sticky" {
		settings.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{
			sarama.NewBalanceStrategyCooperativeSticky(),
		}
	}
	settings.Consumer.Group.InstanceId = options["instance"]
	settings.Consumer.Offsets.Initial = sarama.OffsetOldest
	settings.Consumer.Offsets.AutoCommit.Enable = false
	settings.Consumer.MaxWaitTime = talk.Milliseconds(options["fetch_ms"])
	settings.Consumer.Return.Errors = true
	talk.Joining()
	group, err := sarama.NewConsumerGroup([]string{options["bootstrap"]}, options["group"], settings)
	if err != nil {
		talk.Fatal(err)
	}
	go func() {
		for err := range group.Errors() {
			talk.Error(err)
		}
	}()
	member := &handler{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			err := group.Consume(context.Background(), []string{options["topic"]}, member)
			if errors.Is(err, sarama.ErrClosedConsumerGroup) {
				return
			}
			if err != nil {
				talk.Error(err)
				time.Sleep(100 * time.Millisecond)
			}
		}
	}()
	serve(member.commit)
	if err := group.Close(); err != nil {
		talk.Error(err)
	}
	<-ended
}
