// The program of sarama for the security matrix.
package main

import (
	"context"

	"coordinator/tests/clients/security/given"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"
)

// exchange is a sarama.SCRAMClient by the library that sarama's own examples use: it has none.
type exchange struct {
	scram.HashGeneratorFcn
	*scram.ClientConversation
}

func (e *exchange) Begin(user, password, authorization string) error {
	client, err := e.NewClient(user, password, authorization)
	if err == nil {
		e.ClientConversation = client.NewConversation()
	}
	return err
}

type tokens map[string]string

func (t tokens) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: given.Token(t)}, nil
}

// member hands over what it reads, and its session, which commits.
type member struct {
	sessions chan sarama.ConsumerGroupSession
	messages chan *sarama.ConsumerMessage
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error { m.sessions <- session; return nil }
func (m *member) Cleanup(sarama.ConsumerGroupSession) error       { return nil }
func (m *member) ConsumeClaim(_ sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		m.messages <- message
	}
	return nil
}

func config(settings map[string]string) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.ClientID = settings["client_id"]
	config.Producer.Return.Successes = true
	config.Consumer.Return.Errors = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Net.TLS.Config = given.TLS(settings)
	config.Net.TLS.Enable = config.Net.TLS.Config != nil
	config.Net.SASL.Enable = settings["mechanism"] != ""
	config.Net.SASL.Mechanism = sarama.SASLMechanism(settings["mechanism"])
	config.Net.SASL.User, config.Net.SASL.Password = settings["user"], settings["password"]
	config.Net.SASL.TokenProvider = tokens(settings)
	hash := scram.SHA256
	if settings["mechanism"] == sarama.SASLTypeSCRAMSHA512 {
		hash = scram.SHA512
	}
	config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &exchange{HashGeneratorFcn: hash} }
	return config
}

func main() {
	settings := given.Settings()
	servers := []string{settings["bootstrap"]}
	producer, err := sarama.NewSyncProducer(servers, config(settings))
	if err != nil {
		given.Fail(err)
	}
	group, err := sarama.NewConsumerGroup(servers, settings["group"], config(settings))
	if err != nil {
		given.Fail(err)
	}
	reader := &member{make(chan sarama.ConsumerGroupSession, 1), make(chan *sarama.ConsumerMessage)}
	go func() {
		for {
			if err := group.Consume(context.Background(), []string{settings["topic"]}, reader); err != nil {
				given.Fail(err)
			}
		}
	}()
	session := <-reader.sessions
	given.Run(settings, func() error {
		for range given.Records {
			message := &sarama.ProducerMessage{Topic: settings["topic"], Value: sarama.StringEncoder("value")}
			if _, _, err := producer.SendMessage(message); err != nil {
				return err
			}
		}
		for range given.Records {
			select {
			case message := <-reader.messages:
				session.MarkMessage(message, "")
			case err := <-group.Errors():
				return err
			case session = <-reader.sessions:
			}
		}
		session.Commit()
		return nil
	})
}
