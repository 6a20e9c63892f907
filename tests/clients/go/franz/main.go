// A consumer of franz-go, spoken to as tests/clients/matrix_members.py describes.
package main

import (
	"context"
	"sync"

	"coordinator/tests/clients/talk"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	options := talk.Options()
	talk.Run(func(serve func(commit func())) { live(options, serve) })
}

func live(options map[string]string, serve func(commit func())) {
	balancer := kgo.RangeBalancer()
	if options["assignor"] == "cooperative-sticky" {
		balancer = kgo.CooperativeStickyBalancer()
		if options["protocol"] == "consumer" {
			balancer = kgo.StickyBalancer() // the server's is "uniform" then
		}
	}
	var mutex sync.Mutex
	next := map[int32]kgo.EpochOffset{}
	assigned := func(_ context.Context, _ *kgo.Client, changed map[string][]int32) {
		talk.Changed("assigned", changed[options["topic"]])
	}
	lost := func(_ context.Context, _ *kgo.Client, changed map[string][]int32) {
		mutex.Lock()
		for _, partition := range changed[options["topic"]] {
			delete(next, partition)
		}
		mutex.Unlock()
		talk.Changed("revoked", changed[options["topic"]])
	}
	revoked := func(ctx context.Context, client *kgo.Client, changed map[string][]int32) {
		if options["auto_commit"] == "true" { // a callback replaces the library's, which would do so
			if err := client.CommitUncommittedOffsets(ctx); err != nil {
				talk.Error(err)
			}
		}
		lost(ctx, client, changed)
	}
	settings := []kgo.Opt{
		kgo.SeedBrokers(options["bootstrap"]),
		kgo.ClientID(options["name"]),
		kgo.ConsumerGroup(options["group"]),
		kgo.ConsumeTopics(options["topic"]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.Balancers(balancer),
		kgo.SessionTimeout(talk.Milliseconds(options["session_ms"])),
		kgo.HeartbeatInterval(talk.Milliseconds(options["heartbeat_ms"])),
		kgo.FetchMaxWait(talk.Milliseconds(options["fetch_ms"])),
		kgo.OnPartitionsAssigned(assigned),
		kgo.OnPartitionsRevoked(revoked),
		kgo.OnPartitionsLost(lost),
	}
	if options["instance"] != "" {
		settings = append(settings, kgo.InstanceID(options["instance"]))
	}
	if options["protocol"] == "consumer" {
		settings = append(settings, kgo.ServerSideBalancer())
	}
	if options["auto_commit"] != "true" {
		settings = append(settings, kgo.DisableAutoCommit())
	}
	talk.Joining()
	client, err := kgo.NewClient(settings...)
	if err != nil {
		talk.Fatal(err)
	}
	go func() {
		for {
			fetches := client.PollFetches(context.Background())
			if fetches.IsClientClosed() {
				return
			}
			fetches.EachError(func(_ string, _ int32, err error) { talk.Error(err) })
			fetches.EachRecord(func(record *kgo.Record) {
				mutex.Lock()
				next[record.Partition] = kgo.EpochOffset{Epoch: record.LeaderEpoch, Offset: record.Offset + 1}
				mutex.Unlock()
				talk.Record(record.Partition, record.Offset)
			})
		}
	}()
	serve(func() {
		mutex.Lock()
		offsets := map[string]map[int32]kgo.EpochOffset{options["topic"]: {}}
		for partition, offset := range next {
			offsets[options["topic"]][partition] = offset
		}
		mutex.Unlock()
		commit(client, offsets)
	})
	client.Close()
}
