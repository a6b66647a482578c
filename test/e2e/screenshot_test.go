package e2e

import (
	"bytes"
	"encoding/json"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

func pictures(steps ...abi.Step) hostCall { return hostCall{Screenshot: steps} }

func picture(as string) abi.Step { return abi.Step{Op: abi.OpScreenshot, As: as} }

// shown runs a call of the reading tool and returns what it shows.
func shown(w *harness.World, o orders) (host.CallResult, string) {
	w.T.Helper()
	res := w.Call("puppet_look", o)
	if res.Err != nil {
		w.T.Fatalf("%s: %v", res.Err.Code, res.Err)
	}
	var out struct{ Shot string }
	if err := json.Unmarshal(res.Structured, &out); err != nil {
		w.T.Fatal(err)
	}
	return res, out.Shot
}

// TestScreenshots takes pictures through the whole stack: the module has a handle
// and never the bytes, and the handle is good for its own call.
func TestScreenshots(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	res, handle := shown(w, look(pictures(navigate("/issues"), picture("shot"))))
	if len(res.Images) != 1 || string(res.Images[0].Handle) != handle || res.Images[0].MIME != "image/png" {
		t.Fatalf("%d images, and the result shows %q", len(res.Images), handle)
	}
	img, err := png.Decode(bytes.NewReader(res.Images[0].Data))
	if err != nil || img.Bounds().Dx() < 300 || len(res.Structured) > 4096 {
		t.Errorf("the picture: %v; a result of %d bytes", err, len(res.Structured))
	}
	kept, err := w.Host.Screenshot(t.Context(), host.Principal{ID: "client-1"}, res.AuditID)
	if err != nil || !bytes.Equal(kept.Data, res.Images[0].Data) {
		t.Errorf("the kept picture: %d bytes, %v", len(kept.Data), err)
	}
	if _, err := w.Host.Screenshot(t.Context(), host.Principal{ID: "client-2"}, res.AuditID); abi.ErrNotFound != codeOf(err) {
		t.Errorf("another client gets the picture: %v", err)
	}
	// An earlier call's handle is a string like any other.
	if res, again := shown(w, orders{Misbehave: "show " + handle}); len(res.Images) != 0 || again != handle {
		t.Errorf("an earlier call's handle brought %d images", len(res.Images))
	}
	wantCode(t, w.Call("puppet_look", look(read(navigate("/issues"), picture("shot")))), abi.ErrCapabilityDenied)
	wantCode(t, w.Call("puppet_look", look(act(navigate("/issues"), picture("shot")))), abi.ErrCapabilityDenied)
	wantCode(t, w.Call("puppet_look", look(pictures(navigate("/issues"), click("a")))), abi.ErrCapabilityDenied)
	many := slices.Repeat([]abi.Step{picture("shot")}, abi.MaxImages+1)
	wantCode(t, w.Call("puppet_look", look(pictures(append([]abi.Step{navigate("/issues")}, many...)...))), abi.ErrLimitExceeded)
	// The module imports it; this tool was not granted it.
	wantCode(t, w.CallApproved("puppet_touch", orders{Issue: 12, Body: "x", Calls: []hostCall{pictures(picture("shot"))}}), abi.ErrCapabilityDenied)
}

func TestSnapshotStep(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	got := harness.Result[answers](w, "puppet_look", look(read(navigate("/issues/12"), abi.Step{Op: abi.OpSnapshot, As: "tree", Max: 2000})))
	var tree struct {
		Text      string
		Truncated bool
	}
	if err := json.Unmarshal(got.Answers[0].Data["tree"], &tree); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(tree.Text, "- heading ") || len(tree.Text) > 2000 {
		t.Errorf("the snapshot is %q", tree.Text)
	}
}

func codeOf(err error) abi.Code {
	if err == nil {
		return ""
	}
	return host.Safe(err).Code
}
