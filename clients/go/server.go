package coordinator

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	linesQuoted = 30
	startTime   = 60 * time.Second
	stopTime    = 20 * time.Second
	remedy      = "pip install kafka-group-coordinator, or name a Binary or an Image"
)

var (
	verbsLine  = regexp.MustCompile(`^verbs on (\S+)$`)
	listenLine = regexp.MustCompile(`^listening on (?:\S+://)?([^\s,]+)`)
)

// Server is a running test server: a child process that ends when this process does.
type Server struct {
	// BootstrapServers is the address of its first listener, host:port.
	BootstrapServers string
	url, token       string

	command *exec.Cmd
	stdin   io.Closer
	ended   chan struct{}
	mutex   sync.Mutex
	lines   []string
	stopped bool
}

// Run starts a server, and returns when clients can use it. Stop stops it. The context bounds the start only.
func Run(ctx context.Context, options ...StartOption) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	plan := newPlan(options)
	s := &Server{token: plan.token, ended: make(chan struct{})}
	words, err := plan.words()
	if err != nil {
		return nil, err
	}
	s.command = exec.Command(words[0], words[1:]...)
	s.command.Env = plan.environment(os.Environ())
	output, input := io.Pipe()
	s.command.Stdout, s.command.Stderr = input, input
	s.command.WaitDelay = stopTime // a child that it left behind may hold its output open
	if s.stdin, err = s.command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("the coordinator cannot be started (%w); %s", err, remedy)
	}
	ready, drained := make(chan struct{}), make(chan struct{})
	go func() {
		s.read(output, ready)
		close(drained)
	}()
	go func() {
		_ = s.command.Wait()
		_ = input.Close()
		<-drained // whoever waits for the end quotes the log
		close(s.ended)
	}()
	select {
	case <-ready:
	case <-s.ended:
		return nil, fmt.Errorf("the coordinator ended at its start: %s; it said:\n%s", s.command.ProcessState, s.Log())
	case <-ctx.Done():
		_ = s.command.Process.Kill()
		<-s.ended
		return nil, fmt.Errorf("the coordinator was not ready in time (%w); it said:\n%s", ctx.Err(), s.Log())
	}
	if plan.image != "" {
		s.BootstrapServers, s.url = plan.address, plan.url
	}
	return s, nil
}

// read keeps the last lines of the server, and notes its addresses.
func (s *Server) read(output io.Reader, ready chan<- struct{}) {
	lines := bufio.NewReader(output)
	for isReady := false; ; {
		line, err := lines.ReadString('\n')
		line = strings.TrimRight(line, "\n")
		s.mutex.Lock()
		s.lines = append(s.lines, line)
		s.lines = s.lines[max(0, len(s.lines)-linesQuoted):]
		s.mutex.Unlock()
		if found := verbsLine.FindStringSubmatch(line); found != nil && !isReady {
			s.url = found[1]
		}
		if found := listenLine.FindStringSubmatch(line); found != nil && !isReady {
			s.BootstrapServers = found[1]
			isReady = true
			close(ready)
		}
		if err != nil {
			return
		}
	}
}

// Log returns the last lines that the server wrote.
func (s *Server) Log() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return strings.Join(s.lines, "\n")
}

// Stop stops the server, and returns an error if it had ended before.
func (s *Server) Stop() error {
	if s.stopped {
		return nil
	}
	s.stopped = true
	select {
	case <-s.ended:
		return fmt.Errorf("the coordinator had ended: %s; it said:\n%s", s.command.ProcessState, s.Log())
	default:
	}
	_ = s.stdin.Close() // it ends with its stdin
	select {
	case <-s.ended:
		return nil
	case <-time.After(stopTime):
		_ = s.command.Process.Kill()
		<-s.ended
		return fmt.Errorf("the coordinator did not stop within %s; it said:\n%s", stopTime, s.Log())
	}
}

func newToken() string {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		panic(err) // never happens: the system has a source of random numbers
	}
	return hex.EncodeToString(random)
}
