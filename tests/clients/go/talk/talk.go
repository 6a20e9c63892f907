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

	"golang.org/x/sys/unix"
)

var (
	mutex    sync.Mutex
	commands chan string
)

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

// Now is the monotonic clock that all processes of the machine share.
func Now() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

// Run lives one membership after another, until a "leave" is not followed by a "join". Each is given a function that
// carries out commits until it shall leave.
func Run(live func(serve func(commit func()))) {
	commands = make(chan string)
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			commands <- strings.TrimSpace(lines.Text())
		}
		commands <- "close"
	}()
	for command := "join"; command == "join"; command = <-commands {
		var last string
		live(func(commit func()) { last = serve(commit) })
		if last != "leave" {
			break
		}
		say(map[string]any{"event": "left"})
	}
	say(map[string]any{"event": "closed"})
}

func serve(commit func()) string {
	for command := range commands {
		if command != "commit" {
			say(map[string]any{"event": "leaving"})
			return command
		}
		commit()
	}
	return "close"
}

func say(event map[string]any) {
	event["at"] = Now()
	line, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	mutex.Lock()
	defer mutex.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

// Joining says that the member is about to join.
func Joining() { say(map[string]any{"event": "joining"}) }

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

// Committed says that a commit succeeded, which began at a reading of Now.
func Committed(begun int64) { say(map[string]any{"event": "committed", "took_ns": Now() - begun}) }

// Error says what the library reported.
func Error(err error) { say(map[string]any{"event": "error", "message": err.Error()}) }

// Fatal says it and ends.
func Fatal(err error) {
	Error(err)
	os.Exit(1)
}
