// A loop of franz-go that consumes, transforms and produces in transactions, with kgo.GroupTransactSession.
// tests/clients/exactly_once.py starts it and says what its options are.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"time"

	"coordinator/tests/clients/talk"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	options := talk.Options()
	seed, _ := strconv.ParseInt(options["seed"], 10, 64)
	percent, _ := strconv.Atoi(options["aborted_percent"])
	records, _ := strconv.Atoi(options["records"])
	chance := rand.New(rand.NewSource(seed))
	settings := []kgo.Opt{
		kgo.SeedBrokers(options["bootstrap"]),
		kgo.ClientID(options["name"]),
		kgo.TransactionalID(options["name"]),
		kgo.TransactionTimeout(talk.Milliseconds(options["transaction_ms"])),
		kgo.ConsumerGroup(options["group"]),
		kgo.ConsumeTopics(options["input"]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.SessionTimeout(talk.Milliseconds(options["session_ms"])),
		kgo.HeartbeatInterval(talk.Milliseconds(options["heartbeat_ms"])),
		kgo.FetchMaxWait(100 * time.Millisecond),
	}
	if options["instance"] != "" {
		settings = append(settings, kgo.InstanceID(options["instance"]))
	}
	if options["protocol"] == "consumer" {
		settings = append(settings, kgo.ServerSideBalancer())
	}
	session, err := kgo.NewGroupTransactSession(settings...)
	if err != nil {
		end("NewGroupTransactSession", err)
	}
	for {
		transact(session, options["output"], records, chance.Intn(100) < percent)
	}
}

func transact(session *kgo.GroupTransactSession, output string, records int, isAborted bool) {
	fetches := session.PollRecords(context.Background(), records)
	fetches.EachError(func(_ string, _ int32, err error) { say("fetch error", err) })
	if fetches.NumRecords() == 0 {
		return
	}
	if err := session.Begin(); err != nil {
		end("Begin", err)
	}
	failed := kgo.AbortingFirstErrPromise(session.Client())
	fetches.EachRecord(func(record *kgo.Record) {
		copied := &kgo.Record{Topic: output, Partition: record.Partition, Value: record.Value}
		session.Produce(context.Background(), copied, failed.Promise())
	})
	try := kgo.TransactionEndTry(failed.Err() == nil && !isAborted)
	committed, err := session.End(context.Background(), try)
	if err != nil {
		end("End", err)
	}
	if !committed && !isAborted {
		why := failed.Err()
		if why == nil {
			why = fmt.Errorf("a rebalance, or the offsets were refused")
		}
		say("aborted", why)
	}
}

func end(where string, err error) {
	say("ended", fmt.Errorf("%s: %w", where, err))
	os.Exit(3)
}

func say(event string, err error) {
	line, _ := json.Marshal(map[string]string{"event": event, "message": err.Error()})
	fmt.Println(string(line))
}
