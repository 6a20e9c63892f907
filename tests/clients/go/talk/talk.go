// Package talk is how the Go members are spoken to: options as name=value, one JSON line per event, commands on stdin.
package talk

import (
	"bufio"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

var mutex sync.Mutex

// Options reads the command line.
func Options() map[string]string {
	options := map[string]string{}
	for _, each := range os.Args[1:] {
		name, value, _ := strings.Cut(each, "=")
		options[name] = value
	}
	return options
}

// Milliseconds reads a duration.
func Milliseconds(text string) time.Duration {
	number, err := strconv.Atoi(text)
	if err != nil {
		Fatal(err)
	}
	return time.Duration(number) * time.Millisecond
}

// Commands gives each line of stdin; its end is a last "close".
func Commands() <-chan string {
	commands := make(chan string)
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			commands <- strings.TrimSpace(lines.Text())
		}
		commands <- "close"
	}()
	return commands
}

func say(event map[string]any) {
	line, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	mutex.Lock()
	defer mutex.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

// Changed says what was assigned or revoked.
func Changed(event string, partitions []int32) {
	if partitions == nil {
		partitions = []int32{}
	}
	say(map[string]any{"event": event, "partitions": partitions})
}

// Record says what was read.
func Record(partition int32, offset int64) {
	say(map[string]any{"event": "record", "partition": partition, "offset": offset})
}

// Committed says that a commit succeeded.
func Committed() { say(map[string]any{"event": "committed"}) }

// Closed says that the member left.
func Closed() { say(map[string]any{"event": "closed"}) }

// Error says what the library reported.
func Error(err error) { say(map[string]any{"event": "error", "message": err.Error()}) }

// Fatal says it and ends.
func Fatal(err error) {
	Error(err)
	os.Exit(1)
}
