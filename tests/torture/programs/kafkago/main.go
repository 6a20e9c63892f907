// A plain consumer application of segmentio/kafka-go: a Reader, and a commit after each record.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/segmentio/kafka-go"
)

func milliseconds(variable string) time.Duration {
	number, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		log.Fatal(variable, ": ", err)
	}
	return time.Duration(number) * time.Millisecond
}

func main() {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:           []string{os.Getenv("KAFKA_BOOTSTRAP_SERVERS")},
		GroupID:           os.Getenv("KAFKA_GROUP_ID"),
		Topic:             os.Getenv("KAFKA_TOPIC"),
		Dialer:            &kafka.Dialer{ClientID: os.Getenv("KAFKA_CLIENT_ID"), Timeout: 5 * time.Second, DualStack: true},
		MaxBytes:          1 << 20,
		MaxWait:           500 * time.Millisecond,
		SessionTimeout:    milliseconds("KAFKA_SESSION_TIMEOUT_MS"),
		HeartbeatInterval: milliseconds("KAFKA_HEARTBEAT_INTERVAL_MS"),
		RebalanceTimeout:  5 * time.Second,
		JoinGroupBackoff:  time.Second,
		StartOffset:       kafka.FirstOffset,
		Logger:            log.New(os.Stderr, "", log.LstdFlags),
		ErrorLogger:       log.New(os.Stderr, "error: ", log.LstdFlags),
	})
	ctx, cancel := context.WithCancel(context.Background())
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGTERM)
	go func() {
		<-ending
		cancel()
	}()
	for ctx.Err() == nil {
		message, err := reader.FetchMessage(ctx)
		if err != nil {
			if ctx.Err() == nil {
				log.Fatal("fetch: ", err)
			}
			break
		}
		if err := reader.CommitMessages(ctx, message); err != nil && ctx.Err() == nil {
			log.Print("not committed: ", err)
		}
	}
	if err := reader.Close(); err != nil {
		log.Print("close: ", err)
	}
}
