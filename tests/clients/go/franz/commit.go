package main

import (
	"context"

	"coordinator/tests/clients/talk"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// commit says "committed" only when the coordinator accepted every partition.
func commit(client *kgo.Client, offsets map[string]map[int32]kgo.EpochOffset) {
	failed, begun := false, talk.Now()
	client.CommitOffsetsSync(context.Background(), offsets,
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
			if err != nil {
				failed = true
				talk.Error(err)
				return
			}
			for _, topic := range response.Topics {
				for _, partition := range topic.Partitions {
					if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
						failed = true
						talk.Error(err)
					}
				}
			}
		})
	if !failed {
		talk.Committed(begun)
	}
}
