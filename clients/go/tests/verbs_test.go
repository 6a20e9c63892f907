package tests

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	coordinator "kafka-group-coordinator/clients/go"
)

// addressOnly has this binary start a server and print its address, when it is run as a child.
const addressOnly = "PRINT_AN_ADDRESS"

func TestMain(m *testing.M) {
	if os.Getenv(addressOnly) == "" {
		os.Exit(m.Run())
	}
	server, err := coordinator.Run(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println(server.BootstrapServers)
	select {}
}

// member joins a group and stays in it until the test ends. It tells of each assignment.
func member(t *testing.T, c *coordinator.Coordinator, group string) <-chan int {
	t.Helper()
	assigned := make(chan int, 100)
	consumer, err := kgo.NewClient(
		kgo.ClientID(group),
		kgo.SeedBrokers(c.BootstrapServers),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics("orders"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.HeartbeatInterval(100*time.Millisecond),
		kgo.AutoCommitInterval(100*time.Millisecond),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, found map[string][]int32) {
			assigned <- len(found["orders"])
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		for ctx.Err() == nil {
			consumer.PollFetches(ctx)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-polled
		consumer.Close()
	})
	if count := <-assigned; count != 4 {
		t.Fatalf("%d partitions are assigned, not 4", count)
	}
	return assigned
}

func TestAGroupIsDescribedAndAKickedMemberJoinsAgain(t *testing.T) {
	c := coordinator.Start(t, coordinator.Topics{"orders": 4})
	assigned := member(t, c, "kicked")
	group := c.WaitStable("kicked", coordinator.WithMembers(1), coordinator.WithTimeout(5*time.Second))
	only := group.Members[0]
	if group.State != "Stable" || group.Generation != 1 || only.ClientID != "kicked" || len(only.Partitions) != 4 {
		t.Fatalf("the group is %+v", group)
	}
	if only.Partitions[0].Topic != "orders" || only.InstanceID != "" {
		t.Fatalf("the member is %+v", only)
	}
	c.Kick("kicked")
	<-assigned
	c.WaitStable("kicked", coordinator.WithMembers(1))
	c.Advance(time.Hour)
	<-assigned
	if story := c.Explain("kicked"); !strings.Contains(story, "fell silent") {
		t.Errorf("the story has no expired session:\n%s", story)
	}
}

func TestCommitsAreThereAfterACrash(t *testing.T) {
	c := coordinator.Start(t, coordinator.Topics{"orders": 4})
	first := c.Produce("orders", []string{"a", "\xff&"}, coordinator.WithPartition(1), coordinator.WithKey("k"))
	c.Produce("orders", []string{strings.Repeat("many", 10_000)}, coordinator.WithPartition(1))
	if again := c.Produce("orders", []string{"last"}, coordinator.WithPartition(1)); first != 0 || again != 3 {
		t.Fatalf("produced at %d and %d, not at 0 and 3", first, again)
	}
	fault := c.Delay("OffsetCommit", 20*time.Millisecond, coordinator.WithTimes(0), coordinator.WithGroup("crash*"))
	member(t, c, "crashed")
	c.WaitStable("crashed")
	if fault.Action != "delay" || fault.DelayMs != 20 || fault.Group != "crash*" || fault.Number != 1 {
		t.Errorf("the fault is %+v", fault)
	}
	committed := c.WaitCommitted("crashed", "orders", 4)
	c.Crash(coordinator.WithDown(100 * time.Millisecond))
	if now := c.Committed("crashed"); fmt.Sprint(now) != fmt.Sprint(committed) {
		t.Errorf("committed after the crash: %v, not %v", now, committed)
	}
	if faults := c.ListFaults(); len(faults) != 1 || faults[0].Fired == 0 {
		t.Errorf("the faults are %+v", faults)
	}
	c.RemoveFault(fault)
}

func TestAnErrorIsTheSentenceOfTheServer(t *testing.T) {
	c := coordinator.Start(t, coordinator.Setting(tokenKey, "s3cret"))
	_, err := c.Server.Describe(t.Context(), "none")
	var refused *coordinator.VerbError
	if !errors.As(err, &refused) || !strings.HasPrefix(err.Error(), "there is no group 'none' with members") {
		t.Errorf("the error is %v", err)
	}
	_, err = c.Server.WaitStable(t.Context(), "none", coordinator.WithTimeout(50*time.Millisecond))
	if !errors.Is(err, coordinator.ErrNotInTime) {
		t.Errorf("the error is %v", err)
	}
	err = c.Server.Kick(t.Context(), "none", coordinator.WithTimes(2))
	if err == nil || err.Error() != "kick has no parameter 'times'; it has: member, group" {
		t.Errorf("the error is %v", err)
	}
	words, err := exec.Command("ps", "-ww", "-eo", "args").Output()
	if err != nil || strings.Contains(string(words), "s3cret") || !strings.Contains(string(words), "--end-with-stdin") {
		t.Errorf("the token is in the list of processes, or the server is not: %v", err)
	}
}

const tokenKey = "test.verbs.token"

func TestAStartThatFailsSaysWhy(t *testing.T) {
	for wanted, option := range map[string]coordinator.StartOption{
		"group.max.sise":    coordinator.Setting("group.max.sise", "3"),
		"cannot be started": coordinator.Command("no-such-program"),
	} {
		if _, err := coordinator.Run(t.Context(), option); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("the error has no %q: %v", wanted, err)
		}
	}
}

// output is a test whose end is looked at: only what Start and the end of a test call.
type output struct {
	testing.TB
	ends   []func()
	errors []string
}

func (o *output) Helper()           {}
func (o *output) Cleanup(f func())  { o.ends = append(o.ends, f) }
func (o *output) Failed() bool      { return false }
func (o *output) Error(what ...any) { o.errors = append(o.errors, fmt.Sprint(what...)) }

func TestAFaultThatWasNotMetFailsTheTest(t *testing.T) {
	inner := &output{TB: t}
	c := coordinator.Start(inner)
	c.FailNext("Heartbeat", "NOT_COORDINATOR")
	for _, end := range inner.ends {
		end()
	}
	if len(inner.errors) != 1 || !strings.HasPrefix(inner.errors[0], "no request came for: the next HEARTBEAT") {
		t.Errorf("the errors are %q", inner.errors)
	}
	refuses(t, c.BootstrapServers)
}

func TestTheServerEndsWithAProcessThatIsKilled(t *testing.T) {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), addressOnly+"=1")
	printed, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(printed).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	refuses(t, strings.TrimSpace(address))
}

// refuses waits until an address takes no connection.
func refuses(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		connection, err := net.Dial("tcp", address)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		if err == nil {
			_ = connection.Close()
		}
	}
	t.Errorf("%s still takes connections", address)
}
