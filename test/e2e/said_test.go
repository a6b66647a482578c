package e2e

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

// A module's own words reach clients by other ways than results: its errors, its
// reports of progress, and the state of its connector, which every client sees.
func TestWhatAModuleSays(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	password := site.Users()[0].Password
	var mu sync.Mutex
	var reports []string
	call := func(o orders) *abi.Error {
		t.Helper()
		args, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return w.Host.Call(t.Context(), host.CallRequest{
			Principal: someone("ann"), Tool: "puppet_look", Args: args,
			Progress: func(_, _ float64, message string) {
				mu.Lock()
				defer mu.Unlock()
				reports = append(reports, message)
			},
		}).Err
	}

	err := call(orders{Misbehave: "claim not_found", Body: "my password is " + password})
	if err == nil || err.Code != abi.ErrNotFound || strings.Contains(err.Error(), password) || !strings.Contains(err.Error(), "my password is [redacted]") {
		t.Errorf("the error holds the password, or not what stood before it: %v", err)
	}
	mu.Lock()
	if told := strings.Join(reports, ", "); strings.Contains(told, password) || !strings.Contains(told, "my password is [redacted]") {
		t.Errorf("progress holds the password, or not what stood before it: %s", told)
	}
	mu.Unlock()
	for _, before := range []int{4070, 4080, 1 << 20} { // where it is cut
		body := strings.Repeat("x", before) + password
		if err := call(orders{Misbehave: "claim not_found", Body: body}); err == nil || len(err.Msg) > 5<<10 || strings.Contains(err.Msg, password[:4]) {
			t.Errorf("the error has no end, or half a password: %.100v", err)
		}
	}

	if err := call(orders{Misbehave: "claim auth_expired", Body: "what ann looked for"}); err == nil || !strings.Contains(err.Error(), "what ann looked for") {
		t.Errorf("ann is told %v", err)
	}
	seen, problems := w.Host.Connectors(t.Context(), someone("eve"))
	list, jsonErr := json.Marshal([]any{seen, problems, w.Host.Health(t.Context())})
	if jsonErr != nil || !strings.Contains(string(list), `"auth_expired"`) || strings.Contains(string(list), "ann looked") {
		t.Errorf("another client sees %s, %v", list, jsonErr)
	}
}
