// Package given has the settings and the lines of a program for the security matrix, which
// tests/clients/security_programs.py describes.
package given

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
	"strconv"
	"time"
)

// Records is how many a round has.
const Records = 3

// Settings are those of the command line.
func Settings() map[string]string {
	var settings map[string]string
	check(json.Unmarshal([]byte(os.Args[1]), &settings))
	return settings
}

// TLS returns nil if the protocol has none.
func TLS(settings map[string]string) *tls.Config {
	if settings["ca"] == "" {
		return nil
	}
	authority, err := os.ReadFile(settings["ca"])
	check(err)
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(authority)
	if settings["certificate"] != "" {
		pair, err := tls.LoadX509KeyPair(settings["certificate"], settings["certificate"])
		check(err)
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}

// Token returns the access token.
func Token(settings map[string]string) string {
	token, err := os.ReadFile(settings["token"])
	check(err)
	return string(token)
}

// Run does rounds for as long as it is told to, at least one, and says how they end.
func Run(settings map[string]string, round func() error) {
	again := func() {
		check(round())
		say(map[string]string{"event": "round"})
	}
	again()
	for until := time.Now().Add(milliseconds(settings["milliseconds"])); time.Now().Before(until); {
		time.Sleep(milliseconds(settings["pause_ms"]))
		again()
	}
	say(map[string]string{"event": "closed"})
}

func milliseconds(text string) time.Duration {
	number, err := strconv.Atoi(text)
	check(err)
	return time.Duration(number) * time.Millisecond
}

func check(err error) {
	if err != nil {
		Fail(err)
	}
}

// Fail says what the library reported, and ends.
func Fail(err error) {
	say(map[string]string{"event": "error", "message": err.Error()})
	os.Exit(1)
}

func say(event map[string]string) {
	line, _ := json.Marshal(event)
	os.Stdout.Write(append(line, '\n'))
}
