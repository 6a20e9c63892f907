package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// ErrNotInTime is the cause of the error of a wait that ended without what it waited for.
var ErrNotInTime = errors.New("not in time")

// VerbError is a verb that cannot be done. Its text is the sentence of the server.
type VerbError struct {
	Verb     string
	Status   int
	Sentence string
}

func (e *VerbError) Error() string { return e.Sentence }

// Is reports whether the error is a wait that was too long.
func (e *VerbError) Is(target error) bool {
	return target == ErrNotInTime && e.Status == http.StatusRequestTimeout
}

// Option is an argument of a verb that may be left out. The server refuses one that its verb does not have.
type Option struct {
	name  string
	value any
}

// Each request has its own connection, and goes past all proxies.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// ask has the server do a verb.
func ask[T any](ctx context.Context, s *Server, verb string, options []Option, needed ...Option) (T, error) {
	var result T
	body := strings.NewReader(formOf(append(needed, options...)).Encode())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+verb, body)
	if err != nil {
		return result, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Authorization", "Bearer "+s.token)
	answer, err := client.Do(request)
	if err != nil {
		return result, fmt.Errorf("the coordinator does not answer to %s: %w", verb, err)
	}
	defer answer.Body.Close()
	decoder := json.NewDecoder(answer.Body)
	if answer.StatusCode != http.StatusOK {
		var refusal struct{ Error string }
		if err := decoder.Decode(&refusal); err != nil {
			return result, fmt.Errorf("%s is no coordinator: %w", s.url, err)
		}
		return result, &VerbError{verb, answer.StatusCode, refusal.Error}
	}
	err = decoder.Decode(&result)
	return result, err
}

func formOf(options []Option) url.Values {
	form := url.Values{}
	for _, each := range options {
		switch value := each.value.(type) {
		case Topics:
			for name, partitions := range value {
				form.Set(name, fmt.Sprint(partitions))
			}
		case []string:
			form[each.name] = value
		default:
			form.Set(each.name, fmt.Sprint(value))
		}
	}
	return form
}
