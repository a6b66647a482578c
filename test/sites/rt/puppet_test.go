package rt

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

// InstallPuppet installs a module that does whatever it is told, under the very
// lists that the connector's tools are signed with: "look" has the reads of all
// tools that read, "touch" the lists of one that writes. A higher patch takes the
// place of the one before.
func (r *rig) installPuppet(write string, patch int) {
	r.T.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(), source, "plugin.yaml"))
	if err != nil {
		r.T.Fatal(err)
	}
	m, err := release.ParseManifest(text)
	if err != nil {
		r.T.Fatal(err)
	}
	m.Name, m.Title, m.Version = "puppet", "Puppet", "1.0."+strconv.Itoa(patch)
	c := &m.Connectors[0]
	c.ID, c.Title = "puppet", "Puppet"
	look := puppetTool("look", false)
	touch := puppetTool("touch", true)
	for _, tool := range c.Tools {
		switch {
		case "rt."+tool.Name == write:
			touch.Reads, touch.Writes = tool.Reads, tool.Writes
		case !tool.IsDestructive():
			look.Reads = append(look.Reads, tool.Reads...)
		}
	}
	c.Tools = []abi.Tool{look, touch}
	manifest, err := json.Marshal(m) // JSON is YAML
	if err != nil {
		r.T.Fatal(err)
	}
	r.install(manifest, harness.Module(r.T, "test/e2e/puppet"))
}

func puppetTool(name string, destructive bool) abi.Tool {
	return abi.Tool{
		Name: name, Title: name, Description: "Does what it is told.", Destructive: &destructive,
		Capabilities: []abi.Capability{abi.CapAct, abi.CapFetch, abi.CapProgress, abi.CapRead, abi.CapScreenshot},
		Input: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"},"text":{"type":"string"},` +
			`"status":{"type":"string"},"queue":{"type":"string"},"queue_id":{"type":"integer"},"subject":{"type":"string"},"requestor":{"type":"string"},` +
			`"tolerate":{"type":"boolean"},"calls":{"type":"array","items":{"type":"object"}}},"additionalProperties":false}`),
		Output: json.RawMessage(`{"type":"object","properties":{"answers":{"type":"array"},"shot":{"type":"string","format":"image"}},"additionalProperties":false}`),
	}
}

// hostCalls opens the page that the attacks start from and does what they say.
func hostCalls(attacks ...Attack) []object {
	calls := []object{{"read": []abi.Step{{Op: abi.OpNavigate, Path: attacks[0].start()}}}}
	for _, a := range attacks {
		if a.Fetch != nil {
			f := *a.Fetch
			f.V = abi.Version
			calls = append(calls, object{"fetch": f})
		} else {
			calls = append(calls, object{"read": []abi.Step{{Op: abi.OpNavigate, Path: a.Path}}})
		}
	}
	return calls
}

// A reader is a hostile module of a tool that reads.
type reader struct{ *rig }

func (r reader) Attack(_ context.Context, a Attack) error {
	return attackError(a, r.World.Call("puppet_look", object{"id": a.ID, "text": "", "calls": hostCalls(a)})) //nolint:contextcheck // the world has the test's
}

// attackError is what the attack came to; that its start came to nothing is
// another error.
func attackError(a Attack, res host.CallResult) error {
	switch {
	case res.Err == nil:
		return nil
	case strings.Contains(res.Err.Error(), a.start()+`"`):
		return fmt.Errorf("opening %s: %s", a.start(), res.Err.Error())
	}
	return res.Err
}

// A writer is one of a tool that writes, approved for args.
type writer struct {
	*rig
	args object
}

func (w writer) Attack(_ context.Context, a Attack) error {
	return attackError(a, w.touch(hostCalls(a), false)) //nolint:contextcheck // the world has the test's
}

// All does several in one call, whatever becomes of each, and returns what the
// call came to.
func (w writer) All(_ context.Context, attacks ...Attack) (json.RawMessage, error) {
	res := w.touch(hostCalls(attacks...), true) //nolint:contextcheck // the world has the test's
	if res.Err != nil {
		return nil, res.Err
	}
	return res.Structured, nil
}

func (w writer) touch(calls []object, tolerate bool) host.CallResult {
	w.NewClient()
	args := maps.Clone(w.args)
	args["calls"], args["tolerate"] = calls, tolerate
	return w.CallApproved("puppet_touch", args)
}

// Unguarded does it in a tab of the same browser that nothing guards.
type unguarded struct{ *rig }

func (u unguarded) Attack(ctx context.Context, a Attack) (err error) {
	p, err := u.Browser().Open(ctx, browser.Policy{Check: func(browser.Request) error { return nil }})
	if err != nil {
		return err
	}
	defer func() { //nolint:contextcheck // Close has a deadline of its own
		if cerr := p.Close(); err == nil {
			err = cerr
		}
	}()
	home := u.site.Base + a.start()
	whatever := abi.Pages{SignedIn: []abi.Condition{{Selector: "body"}}}
	if _, err := p.Navigate(ctx, browser.Navigation{URL: home, Referrer: u.site.Base + "/", Pages: whatever}); err != nil {
		return err
	}
	if a.Fetch == nil {
		_, err = p.Navigate(ctx, browser.Navigation{URL: u.site.Base + a.Path, Referrer: home, Pages: whatever})
		return err
	}
	f := browser.Fetch{Method: a.Fetch.Method, URL: u.site.Base + a.Fetch.Path}
	if b := a.Fetch.Body; b != nil && b.Encoding == abi.EncodingJSON {
		f.ContentType, f.Body = "application/json", b.JSON
	} else if b != nil {
		f.ContentType, f.Body = "application/x-www-form-urlencoded", formBody(b.Fields)
	}
	_, err = p.Fetch(ctx, f)
	return err
}
