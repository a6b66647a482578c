package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// What a connector offers beside its tools: its prompt, the values of arguments, found
// by one call of its reading tool under the client's own login, and its health and the
// client's own calls as resources.
func TestOffersBesideTools(t *testing.T) {
	w := tracker(t)
	me := host.Principal{ID: "client-offers", Name: "offers"}
	_, text, err := w.Host.Prompt(t.Context(), me, "tracker_triage", map[string]string{"id": "12", "audience": "team"})
	if err != nil || !strings.Contains(text, `Read issue "12" with tracker_get`) || !strings.Contains(text, `the audience "team"`) {
		t.Errorf("%q, %v", text, err)
	}
	complete := func(r host.CompleteRequest) host.Completion {
		t.Helper()
		r.Principal = me
		got, err := w.Host.Complete(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	var want []string
	for _, issue := range slices.Backward(w.Site.Truth().Issues) {
		if id := strconv.Itoa(issue.ID); strings.HasPrefix(id, "1") {
			want = append(want, id)
		}
	}
	for _, r := range []host.CompleteRequest{
		{Prompt: "tracker_triage", Arg: "id", Value: "1"},
		{Tool: "tracker_get", Arg: "id", Value: "1"},
		{Tool: "tracker.get", Arg: "id", Value: "1"},
	} {
		got := complete(r)
		if len(want) == 0 || len(got.Values) < len(want) || !slices.Equal(got.Values[:len(want)], want) {
			t.Errorf("%+v: %q, want first %q", r, got.Values, want)
		}
	}
	if got := complete(host.CompleteRequest{Tool: "tracker_list", Arg: "status", Value: "re"}); !slices.Equal(got.Values, []string{"resolved", "rejected"}) {
		t.Errorf("status: %q", got.Values)
	}
	connectors, problems := w.Host.Connectors(t.Context(), me)
	if len(connectors) != 1 || connectors[0].ID != "tracker" || connectors[0].Health.Status != "ok" || len(connectors[0].Tools) != 4 || len(problems) != 0 {
		t.Errorf("connectors %+v, %+v", connectors, problems)
	}
	w.Restart() // the rows of reading calls are written by then
	calls, err := w.Host.Audit(t.Context(), me, "", 10)
	if err != nil || len(calls) != 1 || calls[0].Tool != "tracker.list" || calls[0].Code != "" {
		t.Errorf("completing made the calls %+v, %v", calls, err)
	}
	if other, err := w.Host.Audit(t.Context(), host.Principal{ID: "c_other", Name: "other"}, "", 10); err != nil || len(other) != 0 {
		t.Errorf("another client sees %+v, %v", other, err)
	}
}
