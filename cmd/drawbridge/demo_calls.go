package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// list shows the rows and counts them against what the site holds.
func (d *demoRun) list(ctx context.Context) error {
	res, err := d.mcp.call(ctx, "tracker_list", map[string]any{"status": "open"})
	if err != nil {
		return err
	}
	var got struct {
		Issues []struct {
			ID     int    `json:"id"`
			Title  string `json:"title"`
			Status string `json:"status"`
		} `json:"issues"`
	}
	if err := json.Unmarshal(res, &got); err != nil {
		return err
	}
	w := tabwriter.NewWriter(d.out, 0, 8, 2, ' ', 0)
	row(w, "    ID", "STATUS", "TITLE")
	for i, issue := range got.Issues {
		if i < 8 {
			row(w, fmt.Sprintf("    %d", issue.ID), issue.Status, shorten(issue.Title, 60))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	want := 0
	for _, issue := range d.site.Truth().Issues {
		if issue.Status == "open" {
			want++
		}
	}
	d.say("%d rows, and the tracker holds %d open issues", len(got.Issues), want)
	if len(got.Issues) != want {
		return fmt.Errorf("%d rows, want %d", len(got.Issues), want)
	}
	return nil
}

func (d *demoRun) get(ctx context.Context) error {
	res, err := d.mcp.call(ctx, "tracker_get", map[string]any{"id": demoIssue})
	if err != nil {
		return err
	}
	d.say("%s", shorten(string(res), 300))
	if !strings.Contains(string(res), fmt.Sprintf(`"id":%d`, demoIssue)) {
		return fmt.Errorf("the result is not issue %d", demoIssue)
	}
	return nil
}

// comment makes the call, confirms it in a terminal, and looks at the site.
func (d *demoRun) comment(ctx context.Context) error {
	before := d.comments()
	type answer struct {
		res json.RawMessage
		err error
	}
	got := make(chan answer, 1)
	go func() {
		res, err := d.mcp.call(ctx, "tracker_add_comment", map[string]any{"id": demoIssue, "body": demoComment})
		got <- answer{res, err}
	}()
	if err := d.waitPending(ctx); err != nil {
		return err
	}
	if n := d.comments(); n != before {
		return fmt.Errorf("a comment was written before anybody confirmed it")
	}
	if err := d.typed(ctx, agree(), "approvals"); err != nil {
		return err
	}
	a := <-got
	if a.err != nil {
		return a.err
	}
	d.say("result: %s", shorten(string(a.res), 200))
	if n := d.comments(); n != before+1 {
		return fmt.Errorf("issue %d has %d comments, want %d", demoIssue, n, before+1)
	}
	d.say("issue %d has %d comments now, one more than before", demoIssue, before+1)
	return nil
}

// waitPending waits until the gate asks.
func (d *demoRun) waitPending(ctx context.Context) error {
	return poll(ctx, func() (bool, error) {
		out, err := d.json(ctx, "approvals", "--list")
		if err != nil {
			return false, err
		}
		var list approvalsResult
		err = json.Unmarshal(out, &list)
		return len(list.Approvals) > 0, err
	})
}

func (d *demoRun) comments() int {
	for _, issue := range d.site.Truth().Issues {
		if issue.ID == demoIssue {
			return len(issue.Comments)
		}
	}
	return -1
}

// trespass calls a tool that is signed as reading only and tries to write.
func (d *demoRun) trespass(ctx context.Context) error {
	before := len(d.site.Requests())
	_, err := d.mcp.call(ctx, "trespasser_read_issue", map[string]any{"id": demoIssue})
	if err == nil {
		return fmt.Errorf("a tool that only reads closed an issue")
	}
	d.say("refused: %v", err)
	if !strings.Contains(err.Error(), string(abi.ErrOriginDenied)) {
		return fmt.Errorf("want %q, got: %w", string(abi.ErrOriginDenied), err)
	}
	for _, r := range d.site.Requests()[before:] {
		if strings.Contains(r.Target, "/close") {
			return fmt.Errorf("the tracker saw %s %s", r.Method, r.Target)
		}
	}
	d.say("the tracker saw nothing of it")
	return nil
}

func (d *demoRun) audit(ctx context.Context) error {
	if err := d.run(ctx, "audit", "--limit", "6"); err != nil {
		return err
	}
	return d.run(ctx, "audit", "verify")
}

// finish says what to do next; with keep it leaves everything running until the
// user interrupts.
func (d *demoRun) finish(ctx context.Context, keep bool) error {
	if !keep {
		fmt.Fprintf(d.out, `
All steps passed. To connect your own MCP client, paste into its configuration:

  { "mcpServers": { "drawbridge": { "command": %q, "args": ["mcp", "--client", "my-client"] } } }

It starts a host of your own, for which %s search finds connectors.
The demo's is stopped and its home removed; make demo KEEP=1 leaves it running.
`, d.exe, d.exe)
		return nil
	}
	fmt.Fprintf(d.out, `
All steps passed, and the demo's host keeps running. To connect your own MCP
client to it, paste into its configuration:

  { "mcpServers": { "drawbridge": { "command": %q, "args": ["mcp", "--client", "my-client"],
      "env": { %q: %q, %q: "0" } } } }

Another terminal answers what your client may not, and can use it, too:

  export %s=%s %s=0
  %s approvals
  %s tools

The sample tracker is at %s; %s signs in there with %q.
Interrupt (Ctrl-C) to stop it.
`, d.exe, platform.HomeVar, d.home, httpPortVar, platform.HomeVar, d.home, httpPortVar, d.exe, d.exe, d.site.AppURL(), demoUser, demoPassword())
	<-ctx.Done()
	return nil
}

func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
