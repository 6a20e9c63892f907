package coordinator

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
)

// StartOption says what a server has at its start, or which program it is.
type StartOption interface{ apply(*plan) }

type startOption func(*plan)

func (set startOption) apply(p *plan) { set(p) }

// Topics are the topics to create, with their numbers of partitions.
type Topics map[string]int

func (topics Topics) apply(p *plan) {
	for name, partitions := range topics {
		p.arguments = append(p.arguments, "--topic", fmt.Sprintf("%s:%d", name, partitions))
	}
}

// Setting sets a setting by its name in Kafka, such as group.max.size.
func Setting(key, value string) StartOption {
	return startOption(func(p *plan) { p.set(key, value) })
}

// Command is the program with its first arguments, if it is not `coordinator` in the PATH.
func Command(program string, arguments ...string) StartOption {
	return startOption(func(p *plan) { p.program, p.image = append([]string{program}, arguments...), "" })
}

// Binary is the path of a single-file binary; without it, that in the variable COORDINATOR_BINARY.
func Binary(path string) StartOption { return Command(path) }

// Image is a container image, run by `docker`; without it, that in the variable COORDINATOR_IMAGE.
func Image(name string) StartOption {
	return startOption(func(p *plan) { p.program, p.image = nil, name })
}

const tokenKey = "test.verbs.token"

// secret fits the settings that no other user of the machine may read in a list of processes.
var secret = regexp.MustCompile(`password|secret|token|jaas|keystore\.key`)

// plan is the command of a server, and what is known of its addresses before it starts.
type plan struct {
	program      []string
	image        string
	arguments    []string
	hidden       []string // settings as variables, NAME=VALUE
	token        string
	hasListeners bool
	address, url string
}

func newPlan(options []StartOption) *plan {
	p := &plan{token: newToken()}
	for _, each := range options {
		each.apply(p)
	}
	if p.program == nil && p.image == "" {
		p.choose(os.Getenv("COORDINATOR_BINARY"), os.Getenv("COORDINATOR_IMAGE"))
	}
	return p
}

func (p *plan) choose(binary, image string) {
	switch {
	case binary != "":
		p.program = []string{binary}
	case image != "":
		p.image = image
	default:
		p.program = []string{"coordinator"}
	}
}

func (p *plan) set(key, value string) {
	switch {
	case key == tokenKey:
		p.token = value
	case secret.MatchString(key):
		p.hidden = append(p.hidden, variableOf(key)+"="+value)
	default:
		p.hasListeners = p.hasListeners || key == "listeners"
		p.arguments = append(p.arguments, "--override", key+"="+value)
	}
}

// words returns the command. A container publishes two ports, under the numbers that it has inside: it tells them to
// its clients.
func (p *plan) words() ([]string, error) {
	serve := append([]string{"serve", "--profile", "test", "--end-with-stdin", "--data-dir", ":memory:"}, p.arguments...)
	if p.image == "" {
		if !p.hasListeners {
			serve = append(serve, "--listen", "127.0.0.1:0")
		}
		return append(append(p.program, serve...), "--http", "127.0.0.1:0"), nil
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	p.address, p.url = "127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]+"/test/"
	words := []string{"docker", "run", "--rm", "--interactive", "--entrypoint", "coordinator"}
	for _, port := range ports {
		words = append(words, "--publish", fmt.Sprintf("127.0.0.1:%s:%s", port, port))
	}
	for _, each := range p.variables() {
		name, _, _ := strings.Cut(each, "=")
		words = append(words, "--env", name)
	}
	words = append(append(words, p.image), serve...)
	return append(words, "--listen", "0.0.0.0:"+ports[0], "--advertised", p.address, "--http", "0.0.0.0:"+ports[1]), nil
}

func (p *plan) variables() []string {
	return append([]string{variableOf(tokenKey) + "=" + p.token}, p.hidden...)
}

// environment returns the variables of the server: those of this process that are not for this package, and its own.
func (p *plan) environment(inherited []string) []string {
	var kept []string
	for _, each := range inherited {
		if !strings.HasPrefix(each, "COORDINATOR_BINARY=") && !strings.HasPrefix(each, "COORDINATOR_IMAGE=") {
			kept = append(kept, each)
		}
	}
	return append(append(kept, "PYTHONUNBUFFERED=1"), p.variables()...)
}

var underscores = strings.NewReplacer("_", "__", "-", "___", ".", "_")

func variableOf(key string) string { return "COORDINATOR_" + strings.ToUpper(underscores.Replace(key)) }

func freePorts(count int) ([]string, error) {
	var ports []string
	for i := 0; i < count; i++ {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		ports = append(ports, port)
	}
	return ports, nil
}
