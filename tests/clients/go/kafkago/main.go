// A consumer of segmentio/kafka-go, spoken to as tests/clients/matrix_members.py describes.
// It uses the library's ConsumerGroup, because its Reader does not tell what it was assigned.
package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"coordinator/tests/clients/talk"

	"github.com/segmentio/kafka-go"
)

type member struct {
	options    map[string]string
	mutex      sync.Mutex
	generation *kafka.Generation
	next       map[int]int64
}

// read is one partition of one generation.
func (m *member) read(ctx context.Context, assignment kafka.PartitionAssignment) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:   []string{m.options["bootstrap"]},
		Topic:     m.options["topic"],
		Partition: assignment.ID,
		MaxWait:   talk.Milliseconds(m.options["fetch_ms"]),
	})
	defer reader.Close()
	if err := reader.SetOffset(assignment.Offset); err != nil {
		talk.Error(err)
		return
	}
	for {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, kafka.ErrGenerationEnded) {
				talk.Error(err)
			}
			return
		}
		m.mutex.Lock()
		m.next[message.Partition] = message.Offset + 1
		m.mutex.Unlock()
		talk.Record(int32(message.Partition), message.Offset)
	}
}

// live is one generation; the library ends it when the coordinator asks for a rebalance.
func (m *member) live(generation *kafka.Generation) {
	m.mutex.Lock()
	m.generation, m.next = generation, map[int]int64{}
	m.mutex.Unlock()
	partitions := []int32{}
	for _, each := range generation.Assignments[m.options["topic"]] {
		partitions = append(partitions, int32(each.ID))
	}
	talk.Changed("assigned", partitions)
	generation.Start(func(ctx context.Context) {
		<-ctx.Done()
		talk.Changed("revoked", partitions)
	})
	for _, each := range generation.Assignments[m.options["topic"]] {
		generation.Start(func(ctx context.Context) { m.read(ctx, each) })
	}
}

func (m *member) commit() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	begun := talk.Now()
	if err := m.generation.CommitOffsets(map[string]map[int]int64{m.options["topic"]: m.next}); err != nil {
		talk.Error(err)
		return
	}
	talk.Committed(begun)
}

func main() {
	options := talk.Options()
	talk.Run(func(serve func(commit func())) { live(options, serve) })
}

func live(options map[string]string, serve func(commit func())) {
	talk.Joining()
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID:                options["group"],
		Brokers:           []string{options["bootstrap"]},
		Dialer:            &kafka.Dialer{ClientID: options["name"], Timeout: 10 * time.Second, DualStack: true},
		Topics:            []string{options["topic"]},
		GroupBalancers:    []kafka.GroupBalancer{kafka.RangeGroupBalancer{}},
		SessionTimeout:    talk.Milliseconds(options["session_ms"]),
		HeartbeatInterval: talk.Milliseconds(options["heartbeat_ms"]),
		// When its coordinator was away the library forgets its member id, and the group waits for the old member.
		RebalanceTimeout: 10*time.Second + talk.Milliseconds(options["fetch_ms"]),
		StartOffset:      kafka.FirstOffset,
	})
	if err != nil {
		talk.Fatal(err)
	}
	m := &member{options: options, next: map[int]int64{}}
	go func() {
		for {
			generation, err := group.Next(context.Background())
			if errors.Is(err, kafka.ErrGroupClosed) {
				return
			}
			if err != nil {
				talk.Error(err)
				continue
			}
			m.live(generation)
		}
	}()
	serve(m.commit)
	if err := group.Close(); err != nil {
		talk.Error(err)
	}
}
