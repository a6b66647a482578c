package e2e

import (
	"net/url"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

// An open redirect of the application leads to its identity provider. A module
// may be told that nobody is signed in; it may not read or use what stands there.
func TestIdentityPagesAreNotRead(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	o := look(
		read(navigate("/go?to="+url.QueryEscape(w.Site.IdentityURL()+"/"))),
		read(abi.Step{Op: abi.OpHTML, As: "html"}),
		read(abi.Step{Op: abi.OpPage, As: "page"}),
		act(abi.Step{Op: abi.OpClick, Selector: "a"}),
	)
	o.Tolerate = true
	res := w.Call("puppet_look", o)
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	text := string(res.Structured)
	if n := strings.Count(text, string(`"error"`)); n != len(o.Calls) {
		t.Errorf("%d of %d calls were refused: %s", n, len(o.Calls), text)
	}
	if strings.Contains(text, "<html") || strings.Contains(text, "<!doctype") {
		t.Errorf("the identity provider's page was read: %s", text)
	}
}
