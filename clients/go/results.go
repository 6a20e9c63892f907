package coordinator

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Group is a group, as the coordinator knows it.
type Group struct {
	Group      string
	State      string
	Generation int
	Members    []Member
}

// Member is a member of a group. InstanceID is empty for a dynamic one.
type Member struct {
	MemberID   string           `json:"member_id"`
	ClientID   string           `json:"client_id"`
	InstanceID string           `json:"instance_id"`
	Partitions []TopicPartition `json:"partitions"`
}

// Fault is a fault, with how often it has fired. API and Error are numbers of Kafka's protocol.
type Fault struct {
	Number  int
	Action  string
	API     int
	Times   int
	Client  string
	Group   string
	Error   int
	DelayMs int `json:"delay_ms"`
	Fired   int
}

// TopicPartition is a partition of a topic.
type TopicPartition struct {
	Topic     string
	Partition int
}

// UnmarshalText reads topic-number, the key of an object.
func (tp *TopicPartition) UnmarshalText(text []byte) error {
	dash := strings.LastIndexByte(string(text), '-')
	if dash < 0 {
		return fmt.Errorf("%q is no topic-number", text)
	}
	number, err := strconv.Atoi(string(text[dash+1:]))
	*tp = TopicPartition{string(text[:dash]), number}
	return err
}

// UnmarshalJSON reads ["topic", number], and "topic-number" in newer releases of Go.
func (tp *TopicPartition) UnmarshalJSON(text []byte) error {
	var key string
	if json.Unmarshal(text, &key) == nil {
		return tp.UnmarshalText([]byte(key))
	}
	return json.Unmarshal(text, &[]any{&tp.Topic, &tp.Partition})
}
