package tests

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	coordinator "kafka-group-coordinator/clients/go"
)

func TestARefusedCommitIsRepeated(t *testing.T) {
	c := coordinator.Start(t, coordinator.Topics{"orders": 1})
	c.Produce("orders", []string{"one", "two"})
	c.FailNext("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS")
	consumer, err := kgo.NewClient(
		kgo.SeedBrokers(c.BootstrapServers),
		kgo.ConsumerGroup("shop"),
		kgo.ConsumeTopics("orders"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	consumer.PollRecords(t.Context(), 2)
	if err := consumer.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatal(err)
	}
	committed := c.Committed("shop")
	if offset := committed[coordinator.TopicPartition{Topic: "orders", Partition: 0}]; offset != 2 {
		t.Errorf("committed %d, not 2", offset)
	}
}
