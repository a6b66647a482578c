package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func TestFitting(t *testing.T) {
	all := []string{"Open", "reopened", "closed", "42", "Öl"}
	for typed, want := range map[string]string{"": "Open reopened closed 42 Öl", "OPEN": "Open reopened", "o": "Open reopened closed", "4": "42", "öL": "Öl", "x": ""} {
		if got := fitting(all, typed); strings.Join(got.Values, " ") != want || got.Total != len(got.Values) {
			t.Errorf("%q: %+v, want %s", typed, got, want)
		}
	}
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprint(i))
	}
	if got := fitting(many, ""); len(got.Values) != MaxCompletions || got.Total != 500 {
		t.Errorf("%d of %d", len(got.Values), got.Total)
	}
}

func TestColumnValues(t *testing.T) {
	for name, tt := range map[string]struct{ result, want string }{
		"plain":     {`{"rows":[{"id":1,"x":2},{"id":2},{"id":1}]}`, "1 2"},
		"text":      {`{"rows":[{"id":"b"},{"id":"a"},{"id":true},{"id":1.5}]}`, "b a true 1.5"},
		"no values": {`{"rows":[{"id":null},{},{"id":""},{"id":[1]},{"id":{"a":1}},{"id":"\u202ex"},{"id":"a\nb"},{"id":"\u001b[31m"}]}`, ""},
		"no list":   {`{"rows":{"id":1}}`, ""},
		"no rows":   {`{"rows":[1]}`, ""},
		"another":   {`{"others":[{"id":1}]}`, ""},
		"no object": {`[{"id":1}]`, ""},
		"nothing":   {``, ""},
		"long":      {`{"rows":[{"id":"` + strings.Repeat("x", abi.MaxPromptValue+1) + `"}]}`, ""},
	} {
		if got := columnValues(json.RawMessage(tt.result), "rows.id"); strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	rows := make([]map[string]int, maxValues+5)
	for i := range rows {
		rows[i] = map[string]int{"id": i}
	}
	text, err := json.Marshal(map[string]any{"rows": rows})
	if err != nil {
		t.Fatal(err)
	}
	if got := columnValues(text, "rows.id"); len(got) != maxValues {
		t.Errorf("%d values are kept", len(got))
	}
}

func TestCompleteSources(t *testing.T) {
	h := testPrompt(t)
	cat := h.catalog.Load()
	conn := cat.prompts["tracker_triage"].conn
	def := &abi.Tool{Input: json.RawMessage(`{"type":"object","properties":{"status":{"enum":["open","closed",null,1]},"id":{"type":"integer"}}}`)}
	cat.tools = map[string]*tool{"tracker_list": {conn: conn, def: def}}
	for name, tt := range map[string]struct {
		r    CompleteRequest
		want string
		code abi.Code
	}{
		"closed list":      {CompleteRequest{Prompt: "tracker_triage", Arg: "tone", Value: "f"}, "friendly", ""},
		"says nothing":     {CompleteRequest{Prompt: "tracker_triage", Arg: "note"}, "", ""},
		"enum":             {CompleteRequest{Tool: "tracker_list", Arg: "status"}, "open closed 1", ""},
		"no enum":          {CompleteRequest{Tool: "tracker_list", Arg: "id"}, "", ""},
		"unknown argument": {CompleteRequest{Prompt: "tracker_triage", Arg: "nosuch"}, "", abi.ErrNotFound},
		"unknown prompt":   {CompleteRequest{Prompt: "nosuch", Arg: "id"}, "", abi.ErrNotFound},
		"unknown tool":     {CompleteRequest{Tool: "nosuch", Arg: "id"}, "", abi.ErrNotFound},
	} {
		got, err := h.Complete(t.Context(), tt.r)
		if strings.Join(got.Values, " ") != tt.want || (tt.code == "") != (err == nil) || tt.code != "" && !errors.Is(err, tt.code) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// Typing costs one call, whoever waits for it and however many; each client has its
// own; a tool that failed is left alone for a while.
func TestValuesAreFoundSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c valueCache
		var calls atomic.Int64
		ok := true
		find := func() ([]string, bool) {
			calls.Add(1)
			<-time.After(time.Second)
			return []string{"v"}, ok
		}
		get := func(ctx context.Context, principal string) ([]string, error) {
			return c.get(ctx, valuesKey{principal: principal}, time.Now, find)
		}
		gone, cancel := context.WithCancel(t.Context())
		results := make(chan error)
		ask := func(ctx context.Context) {
			_, err := get(ctx, "c_1")
			results <- err
		}
		go ask(gone)
		for range 15 {
			go ask(t.Context())
		}
		synctest.Wait()
		cancel() // one of them is not interested any more
		failed := 0
		for range 16 {
			if err := <-results; err != nil {
				failed++
			}
		}
		if calls.Load() != 1 || failed != 1 {
			t.Errorf("%d calls, %d of 16 failed", calls.Load(), failed)
		}
		if got, err := get(t.Context(), "c_2"); err != nil || !slices.Equal(got, []string{"v"}) || calls.Load() != 2 {
			t.Errorf("another client: %q, %v, %d calls", got, err, calls.Load())
		}
		<-time.After(valuesFresh)
		ok = false
		for range 5 {
			if got, err := get(t.Context(), "c_1"); err != nil || got != nil {
				t.Errorf("a tool that fails: %q, %v", got, err)
			}
		}
		if calls.Load() != 3 {
			t.Errorf("it was called %d times", calls.Load()-2)
		}
		<-time.After(valuesFailed)
		ok = true
		if got, err := get(t.Context(), "c_1"); err != nil || len(got) != 1 || calls.Load() != 4 {
			t.Errorf("afterwards: %q, %v, %d calls", got, err, calls.Load())
		}
	})
}

func TestValueSetsAreBounded(t *testing.T) {
	var c valueCache
	for i := range maxValueSets {
		if _, _, err := c.enter(valuesKey{column: fmt.Sprint(i)}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := c.enter(valuesKey{column: "one more"}, time.Now()); !errors.Is(err, abi.ErrLimitExceeded) {
		t.Errorf("one more: %v", err)
	}
}
