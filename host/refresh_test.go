package host

import (
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/registry"
)

func TestNoticesOfAnExpiredRegistry(t *testing.T) {
	e := registry.Entry{Registry: "team", Namespace: "acme", Name: "tracker", Version: "1.0.0"}
	if got := notices(e, map[string]time.Time{"other": time.Unix(0, 0)}, nil); len(got) != 0 {
		t.Errorf("another registry's expiry is told: %q", got)
	}
	got := notices(e, map[string]time.Time{"team": time.Unix(0, 0)}, nil)
	if len(got) != 1 || !strings.Contains(got[0], "expired at 1970-01-01") || !strings.Contains(got[0], "what is installed works") {
		t.Errorf("notices %q", got)
	}
}

// Whoever is asked about a registry is told if nothing of it can be installed.
func TestQuestionAboutAnExpiredRegistry(t *testing.T) {
	r := registry.Registry{ID: "team", Snapshot: 4, Expires: time.Unix(1000, 0)}
	if got := expiredLines(r, time.Unix(999, 0)); len(got) != 0 {
		t.Errorf("one that is good: %q", got)
	}
	if got := expiredLines(r, r.Expires); len(got) != 1 || !strings.Contains(got[0], "EXPIRED") || !strings.Contains(got[0], "snapshot 4 was good until 1970-01-01") {
		t.Errorf("one that has expired: %q", got)
	}
}
