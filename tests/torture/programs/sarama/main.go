// A plain consumer application of sarama: the library commits each 200 ms, and it ends when its consumer fails.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/IBM/sarama"
)

type handler struct{}

func (handler) Setup(session sarama.ConsumerGroupSession) error {
	log.Printf("generation %d, assigned %v", session.GenerationID(), session.Claims())
	return nil
}

func (handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			session.MarkMessage(message, "")
		case <-session.Context().Done():
			return nil
		}
	}
}

func milliseconds(variable string) time.Duration {
	number, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		log.Fatal(variable, ": ", err)
	}
	return time.Duration(number) * time.Millisecond
}

func main() {
	sarama.Logger = log.New(os.Stderr, "sarama: ", log.LstdFlags)
	config := sarama.NewConfig()
	config.Version = sarama.V2_1_0_0
	config.ClientID = os.Getenv("KAFKA_CLIENT_ID")
	config.Consumer.Group.Session.Timeout = milliseconds("KAFKA_SESSION_TIMEOUT_MS")
	config.Consumer.Group.Heartbeat.Interval = milliseconds("KAFKA_HEARTBEAT_INTERVAL_MS")
	config.Consumer.MaxWaitTime = 100 * time.Millisecond // commits wait behind it
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Interval = 200 * time.Millisecond
	config.Consumer.Offsets.Retention = 24 * time.Hour // without it old releases send a version of OffsetCommit that is gone

	servers := []string{os.Getenv("KAFKA_BOOTSTRAP_SERVERS")}
	group, err := sarama.NewConsumerGroup(servers, os.Getenv("KAFKA_GROUP_ID"), config)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{os.Getenv("KAFKA_TOPIC")}, handler{}); err != nil && ctx.Err() == nil {
			log.Fatal("consume: ", err)
		}
	}
	if err := group.Close(); err != nil {
		log.Print("close: ", err)
	}
}
