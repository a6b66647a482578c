package clients

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/test/nodejs"
)

// An inspector is the Inspector's command line, connected in one way.
type inspector struct {
	node, program, home string
	era                 string
	at                  target
}

// TestInspector covers what the Inspector's command line can do: it starts, calls one
// method, prints the result and ends. It tells the server that it has no
// elicitation, and asks for no progress (its InspectorClient is made with elicit and
// progress off), has no way to give a call up, and is gone before a list changes: so
// there is no cancel, no answer to a question and no list_changed here, and progress
// is what it is told and does not show. A limit for one request can't be set: that it
// is kept takes a minute to see, so that only DRAWBRIDGE_LONG looks.
func TestInspector(t *testing.T) {
	program := filepath.Join(nodejs.Packages(t, "clients"), "@modelcontextprotocol", "inspector", "clients", "cli", "build", "index.js")
	node, home := nodejs.Node(t), t.TempDir()
	var several crowd
	defer several.Wait()
	for _, era := range []string{"legacy", "modern", "auto"} {
		for _, transport := range []string{"stdio", "http"} {
			several.run(t, era+" "+transport, func(t *testing.T) {
				t.Helper()
				i := inspector{node, program, home, era, newTarget(t, transport)}
				i.list(t)
				i.structured(t)
				if era != "auto" { // each check costs a start of Node
					return
				}
				i.parallel(t)
				i.image(t)
				i.fails(t)
				i.progress(t)
				i.big(t)
				i.unconfirmed(t)
				if os.Getenv("DRAWBRIDGE_LONG") != "" {
					i.timeout(t)
				}
			})
		}
	}
}

// run runs the Inspector once and returns what it printed, on both streams.
func (i inspector) run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	all := []string{i.program, "--protocol-era", i.era, "--format", "json", "-q"}
	if i.at.URL != "" {
		all = append(all, "--server-url", i.at.URL, "--transport", "http", "--header", "Authorization: Bearer "+i.at.Token)
	}
	all = append(all, args...)
	if i.at.Command != "" {
		for name, v := range i.at.Env {
			all = append(all, "-e", name+"="+v)
		}
		all = append(all, "--", i.at.Command)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, i.node, all...)
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "HOME="+i.home)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// call calls a tool and reads the result.
func (i inspector) call(t *testing.T, tool, args string, more ...string) (r struct {
	Content           []struct{ Type, Text, Data, MimeType string }
	StructuredContent json.RawMessage
	IsError           bool
},
) {
	t.Helper()
	stdout, stderr, err := i.run(t, append([]string{"--method", "tools/call", "--tool-name", tool, "--tool-args-json", args}, more...)...)
	var envelope struct{ Result any }
	envelope.Result = &r
	if jsonErr := json.Unmarshal([]byte(stdout), &envelope); jsonErr != nil || (err != nil) != r.IsError || len(r.Content) == 0 {
		t.Fatalf("%s: %v %v\n%.500s\n%.500s", tool, err, jsonErr, stdout, stderr)
	}
	return r
}

func (i inspector) list(t *testing.T) {
	t.Helper()
	stdout, stderr, err := i.run(t, "--strict", "--method", "tools/list")
	if err != nil || strings.Count(stdout, `"name":"fixture_`) != 11 {
		t.Errorf("list: %v\n%.500s\n%.500s", err, stdout, stderr)
	}
}

func (i inspector) structured(t *testing.T) {
	t.Helper()
	if r := i.call(t, "fixture_list", "{}"); string(r.StructuredContent) != `{"rows":[{"id":7,"title":"ä <b>"}]}` {
		t.Errorf("structured: %s", r.StructuredContent)
	}
}

func (i inspector) parallel(t *testing.T) {
	t.Helper()
	stdout, stderr, err := i.run(t, "--method", "tools/call", "--tool-name", "fixture_echo", "--tool-args-json", `{"n":3}`,
		"--load", "--load-concurrency", "64", "--load-requests", "64")
	if err != nil || !strings.Contains(stdout, `"ok":64,"toolErrors":0,"errors":0`) {
		t.Errorf("64 at once: %v\n%.500s\n%.500s", err, stdout, stderr)
	}
}

func (i inspector) image(t *testing.T) {
	t.Helper()
	r := i.call(t, "fixture_image", "{}")
	image := r.Content[len(r.Content)-1]
	if png, err := base64.StdEncoding.DecodeString(image.Data); err != nil || !strings.HasPrefix(string(png), "\x89PNG") || image.MimeType != "image/png" {
		t.Errorf("image: %+v", r)
	}
}

// fails has a tool that fails, and one that there is not.
func (i inspector) fails(t *testing.T) {
	t.Helper()
	if r := i.call(t, "fixture_fail", "{}"); !r.IsError || r.StructuredContent != nil || !strings.HasPrefix(r.Content[0].Text, "auth_expired: ") {
		t.Errorf("fail: %+v", r)
	}
	stdout, stderr, err := i.run(t, "--method", "tools/call", "--tool-name", "fixture_nothing")
	if err == nil || !strings.Contains(stderr, "fixture_nothing") {
		t.Errorf("unknown tool: %v\n%.500s\n%.500s", err, stdout, stderr)
	}
}

// progress gives the call a token: the reports that it then gets, and doesn't show,
// leave the result as it is.
func (i inspector) progress(t *testing.T) {
	t.Helper()
	if r := i.call(t, "fixture_progress", `{"n":5,"ms":5}`, "--tool-metadata", "progressToken=run"); string(r.StructuredContent) != `{"done":true}` {
		t.Errorf("progress: %s", r.StructuredContent)
	}
}

func (i inspector) big(t *testing.T) {
	t.Helper()
	var big struct{ Text string }
	if err := json.Unmarshal(i.call(t, "fixture_big", `{"bytes":4194304}`).StructuredContent, &big); err != nil || len(big.Text) != 4<<20 {
		t.Errorf("4 MB: %d bytes: %v", len(big.Text), err)
	}
}

// timeout waits for the one limit that the command line has for a request, the
// minute of the SDK below it.
func (i inspector) timeout(t *testing.T) {
	t.Helper()
	stdout, stderr, err := i.run(t, "--method", "tools/call", "--tool-name", "fixture_wait", "--tool-args-json", `{"ms":120000}`)
	if err == nil || !strings.Contains(strings.ToLower(stderr), "request timed out") {
		t.Errorf("timeout: %v\n%.500s\n%.500s", err, stdout, stderr)
	}
	if i.at.URL != "" { // over stdio the server has ended with its client
		await(t, "the late call to end", func() bool {
			return !strings.Contains(string(i.call(t, "fixture_counts", "{}").StructuredContent), `"cancelled":0`)
		})
	}
}

// unconfirmed calls what destroys: the command line shows no forms.
func (i inspector) unconfirmed(t *testing.T) {
	t.Helper()
	if r := i.call(t, "fixture_delete", `{"id":6}`); !r.IsError || !strings.HasPrefix(r.Content[0].Text, "confirmation_required: ") {
		t.Errorf("unconfirmed: %+v", r)
	}
}
