package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestGoSDK does as checks.mjs does. host/mcpserver has closer tests with this
// client; here it is a process of its own that it talks to over stdio.
func TestGoSDK(t *testing.T) {
	var several crowd
	defer several.Wait()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, transport := range []string{"stdio", "http"} {
			several.run(t, version+" "+transport, func(t *testing.T) {
				t.Helper()
				at := newTarget(t, transport)
				c := connect(t, at, version, true)
				var questions sync.WaitGroup
				questions.Go(func() { c.questions(t, version) })
				questions.Go(func() { connect(t, at, version, false).refused(t, 6, "confirmation_required") })
				c.results(t)
				c.pages(t)
				c.progress(t)
				c.cancels(t)
				c.parallel(t)
				c.listChanged(t)
				questions.Wait()
				if got := c.counts(t).Deleted; transport == "http" && got != 1 || got > 1 {
					t.Errorf("%d calls of six were approved", got)
				}
			})
		}
	}
}

// A session is a connected Go client.
type session struct {
	*mcp.ClientSession
	changed chan struct{}

	mu   sync.Mutex
	seen map[any][]float64 // progress by token
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func connect(t *testing.T, at target, version string, asks bool) *session {
	t.Helper()
	c := &session{changed: make(chan struct{}, 16), seen: map[any][]float64{}}
	o := &mcp.ClientOptions{
		Capabilities:                &mcp.ClientCapabilities{},
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { c.changed <- struct{}{} },
		ProgressNotificationHandler: c.onProgress,
	}
	if asks {
		o.Capabilities.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}
		o.ElicitationHandler = answer
	}
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: at.URL, HTTPClient: &http.Client{Transport: bearer(at.Token)}, MaxRetries: -1}
	if at.Command != "" {
		cmd := exec.CommandContext(t.Context(), at.Command)
		cmd.Env = append(os.Environ(), serveEnv+"="+at.Env[serveEnv])
		cmd.WaitDelay = time.Second
		transport = &mcp.CommandTransport{Command: cmd}
	}
	var err error
	c.ClientSession, err = mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, o).
		Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// answer answers by the call's argument, as checks.mjs does.
func answer(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	_, after, _ := strings.Cut(r.Params.Message, `"id":`)
	switch id, _ := strconv.Atoi(strings.TrimRight(after, "}")); id {
	case 1:
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
	case 2:
		return &mcp.ElicitResult{Action: "decline"}, nil
	case 3:
		return &mcp.ElicitResult{Action: "cancel"}, nil
	case 4:
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": false}}, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (c *session) onProgress(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[r.Params.ProgressToken] = append(c.seen[r.Params.ProgressToken], r.Params.Progress)
}

// call calls a tool; a result is never an error of the protocol here.
func (c *session) call(t *testing.T, name string, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := c.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return &mcp.CallToolResult{}
	}
	return r
}

func words(r *mcp.CallToolResult) string {
	if len(r.Content) > 0 {
		if c, ok := r.Content[0].(*mcp.TextContent); ok {
			return c.Text
		}
	}
	return ""
}

type numbers struct{ Deleted, Cancelled int }

func (c *session) counts(t *testing.T) (n numbers) {
	t.Helper()
	if err := json.Unmarshal([]byte(words(c.call(t, "fixture_counts", nil))), &n); err != nil {
		t.Error(err)
	}
	return n
}

func (c *session) results(t *testing.T) {
	t.Helper()
	if r := c.call(t, "fixture_list", nil); words(r) != `{"rows":[{"id":7,"title":"ä \u003cb\u003e"}]}` || fmt.Sprint(r.StructuredContent) != "map[rows:[map[id:7 title:ä <b>]]]" {
		t.Errorf("list: %s, %v", words(r), r.StructuredContent)
	}
	if r := c.call(t, "fixture_fail", nil); !r.IsError || r.StructuredContent != nil || !strings.HasPrefix(words(r), "auth_expired: ") {
		t.Errorf("fail: %+v", r)
	}
	r := c.call(t, "fixture_image", nil)
	if len(r.Content) != 2 {
		t.Fatalf("image: %+v", r)
	}
	if png, ok := r.Content[1].(*mcp.ImageContent); !ok || png.MIMEType != "image/png" || !strings.HasPrefix(string(png.Data), "\x89PNG") {
		t.Errorf("image: %+v", r.Content[1])
	}
	big, _ := c.call(t, "fixture_big", map[string]any{"bytes": 4 << 20}).StructuredContent.(map[string]any)
	if s, _ := big["text"].(string); len(s) != 4<<20 {
		t.Errorf("4 MB: %d bytes", len(s))
	}
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "fixture_nothing"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("unknown tool: %v", err)
	}
}

// pages reads a list that doesn't fit into one answer, by its cursors.
func (c *session) pages(t *testing.T) {
	t.Helper()
	args, last := map[string]any{"n": 3000}, 7-1
	for pages := range 20 {
		r := c.call(t, "fixture_list", args)
		var got struct {
			Rows []struct{ ID int }
			More struct{ Cursor string }
		}
		raw, err := json.Marshal(r.StructuredContent)
		if err != nil || json.Unmarshal(raw, &got) != nil || r.IsError || len(got.Rows) == 0 {
			t.Fatalf("page %d: %v: %.300s", pages, err, words(r))
		}
		for _, row := range got.Rows {
			if last++; row.ID != last {
				t.Fatalf("row %d, and not %d", row.ID, last)
			}
		}
		if got.More.Cursor == "" {
			break
		}
		args["cursor"] = got.More.Cursor
	}
	if last != 3007 {
		t.Errorf("the last row is %d", last)
	}
}

func (c *session) progress(t *testing.T) {
	t.Helper()
	for i := range 20 {
		p := &mcp.CallToolParams{Name: "fixture_progress", Arguments: map[string]any{"n": 5}}
		token := "run " + strconv.Itoa(i)
		p.SetProgressToken(token)
		if _, err := c.CallTool(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		await(t, "progress of "+token, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.seen[token]) >= 5
		})
		c.mu.Lock()
		if got := fmt.Sprint(c.seen[token]); got != "[1 2 3 4 5]" {
			t.Errorf("%s: %s", token, got)
		}
		c.mu.Unlock()
	}
}

// cancels gives up two calls that have begun, the second by a deadline; the backend
// sees both end.
func (c *session) cancels(t *testing.T) {
	t.Helper()
	before := c.counts(t).Cancelled
	giveUp, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := func(token string) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.seen[token]) > 0
	}
	var one sync.WaitGroup
	one.Go(func() {
		if err := c.wait(giveUp, "cancel"); err == nil {
			t.Error("a cancelled call returned")
		}
	})
	await(t, "the call to begin", func() bool { return began("cancel") })
	cancel()
	one.Wait()
	await(t, "the cancelled call to end", func() bool { return c.counts(t).Cancelled > before })
	for d := 300 * time.Millisecond; d < time.Minute; d *= 10 {
		before = c.counts(t).Cancelled
		deadline, cancel := context.WithTimeout(t.Context(), d)
		err := c.wait(deadline, d.String())
		cancel()
		if err == nil || deadline.Err() == nil {
			t.Fatalf("deadline: %v", err)
		}
		if began(d.String()) { // else a slow machine: the call had not got there
			await(t, "the late call to end", func() bool { return c.counts(t).Cancelled > before })
			return
		}
	}
	t.Error("no call began within its deadline")
}

// wait calls what waits for a minute.
func (c *session) wait(ctx context.Context, token string) error {
	p := &mcp.CallToolParams{Name: "fixture_wait", Arguments: map[string]any{"ms": 60_000}}
	p.SetProgressToken(token)
	_, err := c.CallTool(ctx, p)
	return err
}

func (c *session) parallel(t *testing.T) {
	t.Helper()
	var all sync.WaitGroup
	for n := range 64 {
		all.Go(func() {
			if r := c.call(t, "fixture_echo", map[string]any{"n": n}); words(r) != fmt.Sprintf(`{"n":%d}`, n) {
				t.Errorf("call %d got %s", n, words(r))
			}
		})
	}
	all.Wait()
}

func (c *session) listChanged(t *testing.T) {
	t.Helper()
	c.call(t, "fixture_add", nil)
	select {
	case <-c.changed:
	case <-time.After(patience):
		t.Fatal("the client did not hear of the new tool")
	}
	list, err := c.ListTools(t.Context(), nil)
	if err != nil || !slices.ContainsFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == "fixture_added" }) {
		t.Errorf("the new tool is not listed: %v", err)
	}
	if r := c.call(t, "fixture_added", nil); r.IsError {
		t.Errorf("the new tool: %+v", r)
	}
	c.call(t, "fixture_remove", nil)
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "fixture_added"}); err == nil {
		t.Error("a tool that is gone could be called")
	}
}

// questions has each kind of answer, at once.
func (c *session) questions(t *testing.T, version string) {
	t.Helper()
	var all sync.WaitGroup
	all.Go(func() {
		if r := c.call(t, "fixture_delete", map[string]any{"id": 1}); r.IsError || words(r) != `{"deleted":1}` {
			t.Errorf("accepted: %s", words(r))
		}
	})
	for id := 2; id <= 4; id++ {
		all.Go(func() { c.refused(t, id, "confirmation_denied") })
	}
	all.Go(func() {
		if version == "2025-11-25" {
			c.refused(t, 5, "confirmation_required")
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // it is the client that waits, and it alone
		defer cancel()
		if r, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "fixture_delete", Arguments: map[string]any{"id": 5}}); err == nil {
			t.Errorf("never answered: %+v", r)
		}
	})
	all.Wait()
}

func (c *session) refused(t *testing.T, id int, code string) {
	t.Helper()
	if r := c.call(t, "fixture_delete", map[string]any{"id": id}); !r.IsError || !strings.HasPrefix(words(r), code+": ") {
		t.Errorf("question %d: %s", id, words(r))
	}
}

// await polls until ok.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	over := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-over:
			t.Fatalf("waited too long for %s", what)
		}
	}
}
