// A plain consumer application of franz-go: it commits the records of each poll, and waits for that a second at most.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const commitTimeout = time.Second

func milliseconds(variable string) time.Duration {
	number, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		log.Fatal(variable, ": ", err)
	}
	return time.Duration(number) * time.Millisecond
}

func main() {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(os.Getenv("KAFKA_BOOTSTRAP_SERVERS")),
		kgo.ClientID(os.Getenv("KAFKA_CLIENT_ID")),
		kgo.ConsumerGroup(os.Getenv("KAFKA_GROUP_ID")),
		kgo.ConsumeTopics(os.Getenv("KAFKA_TOPIC")),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(milliseconds("KAFKA_SESSION_TIMEOUT_MS")),
		kgo.HeartbeatInterval(milliseconds("KAFKA_HEARTBEAT_INTERVAL_MS")),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(), // so that what was polled is still ours when it is committed
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo, nil)),
	)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		fetches.EachError(func(topic string, partition int32, err error) {
			log.Printf("%s-%d: %v", topic, partition, err)
		})
		if !fetches.Empty() {
			waiting, cancel := context.WithTimeout(context.Background(), commitTimeout)
			if err := client.CommitRecords(waiting, fetches.Records()...); err != nil {
				log.Print("not committed: ", err)
			}
			cancel()
		}
		client.AllowRebalance()
	}
	client.CloseAllowingRebalance()
}
