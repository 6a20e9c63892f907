// The program of franz-go for the security matrix.
package main

import (
	"context"

	"coordinator/tests/clients/security/given"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func mechanism(settings map[string]string) sasl.Mechanism {
	user, password := settings["user"], settings["password"]
	switch settings["mechanism"] {
	case "PLAIN":
		return plain.Auth{User: user, Pass: password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	case "OAUTHBEARER":
		return oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			return oauth.Auth{Token: given.Token(settings)}, nil
		})
	}
	return nil
}

func main() {
	settings := given.Settings()
	options := []kgo.Opt{
		kgo.SeedBrokers(settings["bootstrap"]),
		kgo.ClientID(settings["client_id"]),
		kgo.ConsumerGroup(settings["group"]),
		kgo.ConsumeTopics(settings["topic"]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	}
	if config := given.TLS(settings); config != nil {
		options = append(options, kgo.DialTLSConfig(config))
	}
	if chosen := mechanism(settings); chosen != nil {
		options = append(options, kgo.SASL(chosen))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		given.Fail(err)
	}
	defer client.Close()
	background := context.Background()
	if err := client.Ping(background); err != nil { // or all that it does would be tried again for ever
		given.Fail(err)
	}
	given.Run(settings, func() error {
		for range given.Records {
			record := &kgo.Record{Topic: settings["topic"], Value: []byte("value")}
			if err := client.ProduceSync(background, record).FirstErr(); err != nil {
				return err
			}
		}
		for read := 0; read < given.Records; {
			fetches := client.PollFetches(background)
			if err := fetches.Err(); err != nil {
				return err
			}
			read += fetches.NumRecords()
		}
		return client.CommitUncommittedOffsets(background)
	})
}
