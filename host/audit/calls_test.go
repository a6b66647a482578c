package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A principal sees its own calls and nobody else's, and nothing that counts those
// of others.
func TestCallsAreTheirOwners(t *testing.T) {
	l, err := Open(t.Context(), paths(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	begin := func(id, who string, args string) ID {
		e := entry()
		e.CallID, e.PrincipalID, e.Args = id, who, json.RawMessage(args)
		row, err := l.Begin(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	for i := range 5 {
		for _, who := range []string{"c_1", "c_2"} {
			row := begin(fmt.Sprintf("%s-%d", who, i), who, fmt.Sprintf(`{"n":%d}`, i))
			out := Outcome{Duration: 2 * time.Second, Requests: 1}
			if i == 3 {
				out.Code, out.Message = abi.ErrTimeout, "too slow"
			}
			if err := l.End(t.Context(), row, out); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin("c_1-5", "c_1", `{"text":"`+strings.Repeat("x", maxCallArgs)+`"}`)

	got, err := l.Calls(t.Context(), "c_1", "", 3)
	if err != nil || len(got) != 3 || got[0].ID != "c_1-5" || got[1].ID != "c_1-4" || got[2].ID != "c_1-3" {
		t.Fatalf("%+v, %v", got, err)
	}
	if got[0].Ended || got[0].Args != nil {
		t.Errorf("a call that runs: %+v", got[0])
	}
	if c := got[1]; !c.Ended || c.Code != "" || c.DurationMS != 2000 || c.Requests != 1 || string(c.Args) != `{"n":4}` || c.Account != "ada" || c.Approver == "" {
		t.Errorf("a call that ended: %+v", c)
	}
	if c := got[2]; c.Code != abi.ErrTimeout || c.Message != "too slow" {
		t.Errorf("a call that failed: %+v", c)
	}
	rest, err := l.Calls(t.Context(), "c_1", got[2].ID, 100)
	if err != nil || len(rest) != 3 || rest[0].ID != "c_1-2" || rest[2].ID != "c_1-0" {
		t.Errorf("before it: %+v, %v", rest, err)
	}
	for _, c := range append(got, rest...) {
		if text, err := json.Marshal(c); err != nil || strings.Contains(string(text), "c_2") || strings.Contains(string(text), "seq") {
			t.Errorf("%s, %v", text, err)
		}
	}
	for _, before := range []string{"c_2-3", "nosuch", "' or 1=1 --", "1"} {
		if list, err := l.Calls(t.Context(), "c_1", before, 100); !errors.Is(err, abi.ErrNotFound) || list != nil {
			t.Errorf("before %q: %+v, %v", before, list, err)
		}
	}
	for _, who := range []string{"", "c_3", "%", "c_1' or '1'='1"} {
		if list, err := l.Calls(t.Context(), who, "", 100); err != nil || len(list) != 0 {
			t.Errorf("calls of %q: %+v, %v", who, list, err)
		}
	}
	if list, err := l.Calls(t.Context(), "c_1", "", -1); err != nil || len(list) != 0 {
		t.Errorf("limit -1: %+v, %v", list, err)
	}
}
