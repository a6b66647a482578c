package host

import (
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/registry"
)

func TestNoticesOfAnExpiredRegistry(t *testing.T) {
	e := registry.Entry{Registry: "team", Namespace: "acme", Name: "tracker", Version: "1.0.0"}
	if got := notices(e, map[string]time.Time{"other": time.Unix(0, 0)}); len(got) != 0 {
		t.Errorf("another registry's expiry is told: %q", got)
	}
	got := notices(e, map[string]time.Time{"team": time.Unix(0, 0)})
	if len(got) != 1 || !strings.Contains(got[0], "expired at 1970-01-01") || !strings.Contains(got[0], "what is installed works") {
		t.Errorf("notices %q", got)
	}
}
