package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
)

// A plugin that is removed with its data takes no session with it that another one
// uses: its cookies stay, and the question says so. The last one takes them.
func TestRemoveKeepsASharedSession(t *testing.T) {
	w := tracker(t) // as alice
	text := strings.NewReplacer("base_url: https://beside.example", "base_url: "+w.Site.AppURL(),
		`["https://beside.example/*"]`, `["`+w.Site.AppURL()+`/*", "`+w.Site.IdentityURL()+`/*"]`).Replace(string(tinyManifest("beside")))
	w.Publish([]byte(text), tinyModule("beside"))
	if _, err := w.Host.Install(t.Context(), "acme/beside", nil, w.Agree, func(string) {}); err != nil {
		t.Fatal(showErr(err))
	}
	remove := func(name string) (host.Removed, string) {
		var seen []string
		out, err := w.Host.RemovePlugin(t.Context(), name, host.DataDelete, func(q host.Question) error {
			seen = q.Lines
			return w.Agree(q)
		})
		if err != nil {
			t.Fatal(showErr(err))
		}
		return out, strings.Join(seen, "\n")
	}
	out, seen := remove("beside")
	if !out.Data || out.Cookies != 0 || len(out.Origins) != 0 || !slices.Equal(out.Kept, []string{"beside"}) {
		t.Errorf("removed: %+v", out)
	}
	if !strings.Contains(seen, "keeps        the session of beside, which tracker uses too") || strings.Contains(seen, "forgets") {
		t.Errorf("the question:\n%s", seen)
	}
	if got, _ := w.Host.Connectors(t.Context(), host.Principal{}); len(got) != 1 {
		t.Errorf("connectors: %+v", got)
	}
	if res := w.Call("tracker_list", none{}); res.Err != nil {
		t.Errorf("the other one's session is gone: %v", res.Err)
	}
	if out, seen = remove("tracker"); out.Cookies == 0 || len(out.Kept) != 0 || !slices.Contains(out.Origins, w.Site.AppURL()) {
		t.Errorf("removed: %+v\n%s", out, seen)
	}
	w.WantCode(abi.ErrNotFound, "tracker_list", none{})
}
