package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

// The identity provider still knows the user here, so that the window needs
// nobody to type: what is tested is that the sessions get into it and back.
func TestLoginInAWindowKeepsTheSession(t *testing.T) {
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		t.Skip("not run: there is no display (xvfb-run makes one)")
	}
	w := tracker(t)
	w.Site.ExpireApp()
	in, err := w.Host.Login(t.Context(), "tracker", nil)
	if err != nil || in.Account != "alice" {
		t.Fatalf("signed in as %q, %v", in.Account, err)
	}
	harness.Result[issueList](w, "tracker_list", map[string]any{"limit": 1})
}

func TestLoginWithoutADisplaySaysWhatToDo(t *testing.T) {
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	w := tracker(t)
	_, err := w.Host.Login(t.Context(), "tracker", nil)
	if err == nil {
		t.Fatal("a window was shown without a display")
	}
	if e := host.Safe(err); e.Code != abi.ErrUnsupportedAction || !strings.Contains(e.Hint, "--form") {
		t.Errorf("%s: %v (hint %q)", e.Code, e, e.Hint)
	}
	harness.Result[issueList](w, "tracker_list", map[string]any{"limit": 1}) // the session is still there
}
