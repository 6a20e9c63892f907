// Command kfake runs franz-go's fake Kafka cluster with one broker as a server process, to be measured beside ours.
//
// Usage: kfake PORT_FILE TOPIC PARTITIONS. It listens on 127.0.0.1 at a free port, seeds the topic, writes the port's
// number to PORT_FILE when it is ready, and ends with SIGTERM. Everything is in memory, which is what kfake is for.
package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kfake:", err)
		os.Exit(2)
	}
}

func run(words []string) error {
	if len(words) != 3 {
		return fmt.Errorf("usage: kfake PORT_FILE TOPIC PARTITIONS")
	}
	partitions, err := strconv.ParseInt(words[2], 10, 32)
	if err != nil {
		return fmt.Errorf("PARTITIONS: %w", err)
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(int32(partitions), words[1]))
	if err != nil {
		return err
	}
	defer cluster.Close()
	_, port, err := net.SplitHostPort(cluster.ListenAddrs()[0])
	if err != nil {
		return err
	}
	// Under another name first, so that no reader sees half a number.
	partial := words[0] + ".new"
	if err := os.WriteFile(partial, []byte(port+"\n"), 0o644); err != nil {
		return err
	}
	if err := os.Rename(partial, words[0]); err != nil {
		return err
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	<-told
	return nil
}
