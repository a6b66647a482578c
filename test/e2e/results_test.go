package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/mcpserver"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

// overStdio is an MCP client on a byte stream.
func overStdio(t *testing.T, s *mcpserver.Server, p host.Principal) *sdk.ClientSession {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.ServeStdio(context.WithoutCancel(t.Context()), inR, outW, p)
		_ = outW.Close()
	}()
	t.Cleanup(func() {
		_ = inW.Close()
		<-done
	})
	c, err := sdk.NewClient(&sdk.Implementation{Name: "go-sdk", Version: "1"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// callFor calls a tool and decodes its result.
func callFor[T any](t *testing.T, c *sdk.ClientSession, tool string, args map[string]any) (v T) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil || r.IsError {
		t.Fatalf("%s %v: %v, %s", tool, args, err, said(r))
	}
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil || json.Unmarshal(raw, &v) != nil {
		t.Fatalf("%s: %v: %.300s", tool, err, raw)
	}
	return v
}

func said(r *sdk.CallToolResult) string {
	if r == nil || len(r.Content) == 0 {
		return "nothing"
	}
	text, _ := r.Content[0].(*sdk.TextContent)
	return text.Text
}

// A list that is longer than a client takes at once comes in pages, in an identical
// call with a cursor each. Together they are the truth, and the tool ran once.
func TestLongListComesInPages(t *testing.T) {
	w := tracker(t)
	me := host.Principal{ID: "client-pages", Name: "pages"}
	s := mcpserver.New(w.Host, mcpserver.Options{MaxResult: 4000})
	defer s.Close()
	c := overStdio(t, s, me)
	type paged struct {
		issueList
		More struct {
			Cursor string
			Parts  []struct{ Last, Of int }
		}
	}
	args, pages := map[string]any{"limit": 500}, 0
	var got []int
	for {
		p := callFor[paged](t, c, "tracker_list", args)
		if len(p.Issues) == 0 || p.Total != len(w.Site.Truth().Issues) || len(p.More.Parts) != 1 || p.More.Parts[0].Of != p.Total {
			t.Fatalf("page %d: %+v", pages, p)
		}
		for _, row := range p.Issues {
			got = append(got, row.ID)
		}
		if pages++; p.More.Cursor == "" {
			break
		}
		args["cursor"] = p.More.Cursor
	}
	var want []int
	for _, issue := range slices.Backward(w.Site.Truth().Issues) {
		want = append(want, issue.ID)
	}
	if !slices.Equal(got, want) || pages < 3 {
		t.Errorf("%d pages hold %v, want %v", pages, got, want)
	}
	other := overStdio(t, s, host.Principal{ID: "client-other", Name: "other"})
	if r, err := other.CallTool(t.Context(), &sdk.CallToolParams{Name: "tracker_list", Arguments: args}); err != nil || !r.IsError || !strings.HasPrefix(said(r), "invalid_args: cursor ") {
		t.Errorf("another client: %v, %s", err, said(r))
	}
	args["limit"] = 499
	if r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "tracker_list", Arguments: args}); err != nil || !r.IsError || !strings.HasPrefix(said(r), "invalid_args: cursor ") {
		t.Errorf("other arguments: %v, %s", err, said(r))
	}
	w.Restart() // the rows of reading calls are written by then
	calls, err := w.Host.Audit(t.Context(), me, "", 10)
	if err != nil || len(calls) != 1 {
		t.Errorf("reading the pages made the calls %+v, %v", calls, err)
	}
}

// Whatever a call ends with is text that says its code, what is wrong, and what to do.
func TestErrorsAreWordsForAModel(t *testing.T) {
	w := harness.New(t, harness.Options{Wait: 200 * time.Millisecond})
	w.Ready("connectors-src/tracker")
	w.Login("tracker", "alice")
	s := mcpserver.New(w.Host, mcpserver.Options{})
	defer s.Close()
	c := overStdio(t, s, host.Principal{ID: "client-errors", Name: "errors"})
	for _, tc := range []struct {
		tool string
		args map[string]any
		code string
	}{
		{"tracker_get", map[string]any{"id": 999_999}, "not_found"},
		{"tracker_get", map[string]any{"id": "seven"}, "invalid_args"},
		{"tracker_get", map[string]any{}, "invalid_args"},
		{"tracker_list", map[string]any{"cursor": "made up"}, "invalid_args"},
		{"tracker_list", map[string]any{"unknown": 1}, "invalid_args"},
		{"tracker_add_comment", map[string]any{"id": 12, "body": "text", "cursor": "x"}, "invalid_args"},
		{"tracker_add_comment", map[string]any{"id": 12, "body": "text"}, "confirmation_required"},
	} {
		r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tc.tool, Arguments: tc.args})
		if err != nil {
			t.Fatalf("%s %v: %v", tc.tool, tc.args, err)
		}
		first, hint, ok := strings.Cut(said(r), "\nhint: ")
		if !r.IsError || !ok || hint == "" || !strings.HasPrefix(first, tc.code+": ") || r.Meta[mcpserver.MetaCode] != tc.code || r.StructuredContent != nil {
			t.Errorf("%s %v: %s", tc.tool, tc.args, said(r))
		}
	}
	_, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "tracker_nothing"})
	if words := fmt.Sprint(err); !strings.Contains(words, `not_found: unknown tool "tracker_nothing"`) || !strings.Contains(words, "hint: ") {
		t.Errorf("an unknown tool: %v", err)
	}
}
