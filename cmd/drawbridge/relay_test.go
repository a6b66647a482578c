package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Requests that the daemon leaves unanswered get an error, each once; what was
// answered or cancelled, and what is no request, gets none.
func TestRelayAnswersForADaemonThatEnded(t *testing.T) {
	requests := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}
{"id":"a b","params":{"id":9,"name":"x"},"method":"tools/call","jsonrpc":"2.0"}
{"jsonrpc":"2.0","id":2,"method":"ping"}
{"jsonrpc":"2.0","id":3,"method":"tools/call"}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":77,"result":{}}
no JSON
[]
{"jsonrpc":"2.0","id":null,"method":"x"}
`
	r := &relay{}
	var sent bytes.Buffer
	if err := r.fromClient(&sent, strings.NewReader(requests)); err != nil || sent.String() != requests {
		t.Fatalf("%v: sent %s", err, sent.String())
	}
	r.left = false // the client is still there
	answers := `{"jsonrpc":"2.0","id":2,"result":{"id":1}}
{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}
{"jsonrpc":"2.0","method":"notifications/message"}
`
	var got bytes.Buffer
	err := r.toClient(&got, strings.NewReader(answers+`{"jsonrpc":"2.0","id":1,"res`))
	if !errors.Is(err, abi.ErrBrowserGone) {
		t.Errorf("it ended with %v", err)
	}
	rest, ok := strings.CutPrefix(got.String(), answers)
	if !ok {
		t.Fatalf("the client got\n%s", got.String())
	}
	codes := map[string]string{}
	for line := range strings.Lines(rest) {
		var m struct {
			ID    json.RawMessage `json:"id"`
			Error struct {
				Code int `json:"code"`
				Data struct {
					Code string `json:"code"`
				} `json:"data"`
			} `json:"error"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Error.Code != codeDaemonGone || codes[string(m.ID)] != "" {
			t.Errorf("%v: %s", err, line)
		}
		codes[string(m.ID)] = m.Error.Data.Code
	}
	if len(codes) != 2 || codes["1"] != "browser_gone" || codes[`"a b"`] != "outcome_unknown" {
		t.Errorf("answered: %v", codes)
	}
}

// A client that has left is told nothing, and its end is no error.
func TestRelayEndsWithItsClient(t *testing.T) {
	r := &relay{}
	if err := r.fromClient(io.Discard, strings.NewReader(`{"id":1,"method":"ping"}`+"\n")); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := r.toClient(&got, strings.NewReader("")); err != nil || got.Len() > 0 {
		t.Errorf("%v: %s", err, got.String())
	}
}

// A long message is one piece up to the limit, and several beyond it, with
// nothing lost.
func TestRelayedLines(t *testing.T) {
	long := strings.Repeat("x", maxRelayed+100_000)
	in := "short\n" + strings.Repeat("y", 200_000) + "\n" + long + "\nlast\ncut off"
	var out bytes.Buffer
	var pieces []bool
	err := eachLine(strings.NewReader(in), func(line []byte, whole bool) error {
		pieces = append(pieces, whole)
		out.Write(line)
		return nil
	})
	if err != nil || out.String() != strings.TrimSuffix(in, "cut off") {
		t.Errorf("%v: %d bytes of %d", err, out.Len(), len(in))
	}
	if want := []bool{true, true, false, false, true}; !slices.Equal(pieces, want) {
		t.Errorf("pieces %v, want %v", pieces, want)
	}
}

func FuzzEnvelope(f *testing.F) {
	for _, s := range []string{`{"id":1,"method":"x"}`, `{"method":"notifications/cancelled","params":{"requestId":"a"}}`, `{"id":{"a":[1]},"result":{}}`, "[]", "", "{"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r := &relay{}
		r.asked(line)
		r.answered(line)
		for id, method := range r.pending {
			if !json.Valid(bytes.TrimSpace(goneFrame(id, method))) {
				t.Errorf("the answer to %q is not JSON: %s", line, goneFrame(id, method))
			}
		}
	})
}
