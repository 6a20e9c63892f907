// Package coordinator starts a Kafka-compatible server for tests of consumers, which makes things go wrong on purpose.
//
//	func TestOrders(t *testing.T) {
//		c := coordinator.Start(t, coordinator.Topics{"orders": 4})
//		consumer := newConsumer(c.BootstrapServers)
//		c.FailNext("OffsetCommit", "NOT_COORDINATOR", coordinator.WithTimes(2))
//		...
//	}
package coordinator

import (
	"context"
	"testing"
)

// Coordinator is the server of one test. An error of its verbs ends the test; those of its Server return the error.
type Coordinator struct {
	*Server
	t   testing.TB
	ctx context.Context
}

// Start starts a server that ends with the test. A fault that no request has met fails the test. If the test fails, its
// output has the story of each group and the last lines of the server.
func Start(t testing.TB, options ...StartOption) *Coordinator {
	t.Helper()
	ctx := context.Background()
	server, err := Run(ctx, options...)
	if err != nil {
		t.Fatal(err)
	}
	c := &Coordinator{server, t, ctx}
	t.Cleanup(c.end)
	return c
}

func (c *Coordinator) end() {
	if c.t.Failed() {
		c.report()
	} else if err := c.Server.CheckFaults(c.ctx); err != nil {
		c.t.Error(err)
	}
	if err := c.Server.Stop(); err != nil {
		c.t.Error(err)
	}
}

func (c *Coordinator) report() {
	groups, _ := c.Server.Groups(c.ctx)
	for _, group := range groups {
		story, _ := c.Server.Explain(c.ctx, group)
		c.t.Logf("coordinator: group %s\n%s", group, story)
	}
	c.t.Logf("coordinator: its log\n%s", c.Server.Log())
}

func (c *Coordinator) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}
