// Starts the image by Testcontainers' module for Go: `started KIND...`; see python/started.py.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/kafka"
	"github.com/testcontainers/testcontainers-go/network"
)

func main() {
	ctx := context.Background()
	lines := bufio.NewReader(os.Stdin)
	for _, kind := range os.Args[1:] {
		shared, err := network.New(ctx)
		if err != nil {
			log.Fatal(err)
		}
		container, err := kafka.Run(ctx, "kafka-group-coordinator:0.1.0", network.WithNetwork(nil, shared))
		if err != nil {
			log.Fatal(err)
		}
		brokers, err := container.Brokers(ctx)
		if err != nil {
			log.Fatal(err)
		}
		inspected, err := container.Inspect(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("started", kind, brokers[0], inspected.Config.Hostname+":9092", shared.Name)
		if _, err := lines.ReadString('\n'); err != nil {
			log.Fatal(err)
		}
		if err := testcontainers.TerminateContainer(container); err != nil {
			log.Fatal(err)
		}
		if err := shared.Remove(ctx); err != nil {
			log.Fatal(err)
		}
	}
}
