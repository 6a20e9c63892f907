// Package told runs a producer of the matrix of transactions as it is told on stdin.
// tests/clients/transactions_programs.py describes what it is told and what it says.
package told

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Producer is a transactional producer.
type Producer interface {
	Init() error
	Begin() error
	Send(partition int32, value string) error
	Offsets(group string, offset int64) error
	Commit() error
	Abort() error
}

// Settings are those of the command line.
type Settings struct {
	Bootstrap, Topic, TransactionalID string
	Timeout, Patience                 time.Duration
}

// Arguments returns the settings.
func Arguments() Settings {
	return Settings{os.Args[1], os.Args[2], os.Args[3], milliseconds(os.Args[4]), milliseconds(os.Args[5])}
}

func milliseconds(text string) time.Duration {
	number, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return time.Duration(number) * time.Millisecond
}

// Run acts until stdin ends.
func Run(producer Producer) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := act(producer, strings.Fields(lines.Text())); err != nil {
			fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Println("ok")
		}
	}
}

func act(producer Producer, words []string) error {
	switch words[0] {
	case "init":
		return producer.Init()
	case "begin":
		return producer.Begin()
	case "send":
		partition, err := strconv.Atoi(words[1])
		if err != nil {
			return err
		}
		return producer.Send(int32(partition), words[2])
	case "offsets":
		offset, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			return err
		}
		return producer.Offsets(words[1], offset)
	case "commit":
		return producer.Commit()
	case "abort":
		return producer.Abort()
	}
	return fmt.Errorf("%s is not known", words[0])
}
