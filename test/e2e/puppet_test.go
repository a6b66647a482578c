package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

// A puppetGrant is what differs between the plugin.yaml files of the puppet. The
// zero value grants what most tests want.
type puppetGrant struct {
	NoResources bool
	NoLogin     bool
	Timeout     int // seconds, of the destructive tool
}

// puppetYAML is a connector for the sample tracker that is granted its pages,
// the pages of its behaviours and its open redirect, and one comment.
const puppetYAML = `
name: puppet
version: 0.1.0
category: connector
title: Puppet
description: Does what its caller says, within what it was granted.
connectors:
  - id: puppet
    title: Puppet
    settings:
      - {name: base_url, type: url, title: Tracker, required: true}
      - {name: assets_url, type: url, title: Assets, required: true}
      - {name: login_url, type: url, title: Identity, required: true}
    base_url: "{base_url}"
    origins: ["{base_url}/*"]
[[- if not .NoResources]]
    resources: ["{assets_url}/*"]
[[- end]]
    login:
      path: /auth/login
[[- if not .NoLogin]]
      origins: ["{login_url}"]
      callback: {method: POST, path: /auth/callback}
      form: {username: "#username", password: "#password", submit: "#login button[type=submit]"}
[[- end]]
    pages:
      signed_in: [{selector: "#user[data-login]"}]
      signed_out: [{origin: "{login_url}"}, {selector: "#signed-out"}]
      forbidden: [{selector: "#forbidden"}, {status: 403}]
      missing: [{selector: "#missing"}, {status: 404}]
    account: {selector: "#user", attr: data-login}
    health: {path: /issues}
    tools:
      - name: look
        title: Look
        description: Does what its caller says and may only read.
        destructive: false
        capabilities: [act, fetch, progress, read, screenshot]
        [[- template "shared" "shot: {type: string, format: image}"]]
      - name: touch
        title: Touch
        description: Does what its caller says and may add one comment.
        destructive: true
        capabilities: [act, fetch, progress, read]
        timeout_sec: [[or .Timeout 60]]
        [[- template "shared" "shot: {type: string}"]]
        writes:
          - method: POST
            path: /issues/{id}/comments
            params: [{name: id, arg: issue}]
            encoding: urlencoded
            fields:
              - {name: csrf, token: true}
              - {name: body, arg: body}
            max: 1
[[define "shared"]]
        input:
          type: object
          properties:
            calls: {type: array, items: {type: object}}
            tolerate: {type: boolean}
            misbehave: {type: string}
            issue: {type: integer}
            body: {type: string}
          additionalProperties: false
        output:
          type: object
          properties:
            answers: {type: array, items: {type: object}}
            [[.]]
          required: [answers]
        reads:
          - method: GET
            path: /issues
            query:
              - {name: soft, any: int, optional: true}
              - {name: page, any: int, optional: true}
          - method: GET
            path: /issues/{id}
            params: [{name: id, any: int}]
            query:
              - {name: done, any: slug, optional: true}
              - {name: soft, any: int, optional: true}
          - method: GET
            path: /api/issues/{id}
            params: [{name: id, any: int}]
          - method: GET
            path: /lab/{name}
            params: [{name: name, any: slug}]
            query:
              - {name: id, any: int, optional: true}
              - {name: to, any: text, optional: true}
              - {name: after, any: int, optional: true}
              - {name: only, any: slug, optional: true}
              - {name: as, any: slug, optional: true}
          - method: GET
            path: /go
            query:
              - {name: to, any: text}
              - {name: status, any: int, optional: true}
          - method: GET
            path: /hang
[[- end]]
`

// puppet installs the puppet and signs alice in.
func puppet(t *testing.T, o harness.Options, grant puppetGrant) *harness.World {
	t.Helper()
	w := harness.New(t, o)
	readyPuppet(w, grant)
	w.Login("puppet", "alice")
	return w
}

func readyPuppet(w *harness.World, grant puppetGrant) {
	w.T.Helper()
	var b bytes.Buffer
	tmpl := template.Must(template.New("plugin.yaml").Delims("[[", "]]").Parse(puppetYAML))
	if err := tmpl.Execute(&b, grant); err != nil {
		w.T.Fatal(err)
	}
	w.ReadyWith(b.Bytes(), harness.Module(w.T, "test/e2e/puppet"))
}

// What the puppet is told. The names are those of its input.
type (
	hostCall struct {
		Read  []abi.Step        `json:"read,omitempty"`
		Act   []abi.Step        `json:"act,omitempty"`
		Fetch *abi.FetchRequest `json:"fetch,omitempty"`

		Screenshot []abi.Step `json:"screenshot,omitempty"`
	}
	orders struct {
		Calls     []hostCall `json:"calls,omitempty"`
		Tolerate  bool       `json:"tolerate,omitempty"`
		Misbehave string     `json:"misbehave,omitempty"`
		Issue     int        `json:"issue,omitempty"`
		Body      string     `json:"body,omitempty"`
	}
)

func read(steps ...abi.Step) hostCall { return hostCall{Read: steps} }
func act(steps ...abi.Step) hostCall  { return hostCall{Act: steps} }

func fetch(method, path string, body *abi.FetchBody) hostCall {
	return hostCall{Fetch: &abi.FetchRequest{Method: method, Path: path, Body: body}}
}

func navigate(path string) abi.Step  { return abi.Step{Op: abi.OpNavigate, Path: path} }
func click(selector string) abi.Step { return abi.Step{Op: abi.OpClick, Selector: selector} }
func fill(selector, value string) abi.Step {
	return abi.Step{Op: abi.OpFill, Selector: selector, Value: value}
}

func look(calls ...hostCall) orders { return orders{Calls: calls} }

// answers are what the puppet's host calls brought.
type answers struct {
	Answers []struct {
		Error string                     `json:"error"`
		Data  map[string]json.RawMessage `json:"data"`
		Page  abi.PageInfo               `json:"page"`
		Text  string                     `json:"text"`
	} `json:"answers"`
}

// text reads the text of one element of the page that the reading tab shows.
func text(w *harness.World, selector string) string {
	w.T.Helper()
	got := harness.Result[answers](w, "puppet_look", look(read(abi.Step{
		Op: abi.OpExtract, As: "it", Schema: &abi.Extraction{Cols: []abi.Col{{Name: "text", Selector: selector}}},
	})))
	var table struct{ Rows [][]string }
	if err := json.Unmarshal(got.Answers[0].Data["it"], &table); err != nil {
		w.T.Fatal(err)
	}
	return table.Rows[0][0]
}

// eventually polls until cond holds.
func eventually(tb testing.TB, what string, cond func() bool) {
	tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-limit.C:
			tb.Fatalf("never: %s", what)
		}
	}
}

// refused matches a decision against a part of the URL.
func refused(part string) func(harness.Decision) bool {
	return func(d harness.Decision) bool { return d.Refused && strings.Contains(d.URL, part) }
}

// A decided call is one that runs until a person answers.
type decidedCall struct {
	w    *harness.World
	done chan host.CallResult
}

// begin starts a call of a client.
func begin(ctx context.Context, w *harness.World, p host.Principal, tool string, args any) *decidedCall {
	c := &decidedCall{w: w, done: make(chan host.CallResult, 1)}
	go func() { c.done <- w.CallAs(ctx, p, tool, args) }()
	return c
}

// asked waits until the client's call asks a person.
//
//nolint:contextcheck // the test waits, not the client
func (c *decidedCall) asked(p host.Principal) gate.Pending {
	c.w.T.Helper()
	ctx, cancel := context.WithTimeout(c.w.T.Context(), time.Minute)
	defer cancel()
	for watch := c.w.Gate.Watch(ctx); ; {
		select {
		case res := <-c.done:
			c.w.T.Fatalf("the call ended before anybody was asked: %v", res.Err)
		case list, ok := <-watch:
			if !ok {
				c.w.T.Fatal("nobody was asked")
			}
			for _, q := range list {
				if q.State == gate.StateOpen && q.Attended && q.Subject.Principal.ID == p.ID {
					return q
				}
			}
		}
	}
}

// approve answers yes and returns what the call came to.
func (c *decidedCall) approve(p host.Principal) host.CallResult {
	c.w.T.Helper()
	if err := c.w.Decide(c.asked(p).ID, true); err != nil {
		c.w.T.Fatal(err)
	}
	return c.result()
}

func (c *decidedCall) result() host.CallResult {
	c.w.T.Helper()
	select {
	case res := <-c.done:
		return res
	case <-time.After(2 * time.Minute):
		c.w.T.Fatal("the call never ended")
		return host.CallResult{}
	}
}

// someone is a client of its own, so that no test uses up another's budget of questions.
func someone(name string) host.Principal { return host.Principal{ID: "client-" + name, Name: name} }

// wantCode fails the test unless a call ended with code.
func wantCode(tb testing.TB, res host.CallResult, code abi.Code) {
	tb.Helper()
	_ = errorOf(tb, res, code)
}

// errorOf is the error that a call has to end with, of that code.
func errorOf(tb testing.TB, res host.CallResult, code abi.Code) *abi.Error {
	tb.Helper()
	if res.Err == nil {
		tb.Fatalf("the call succeeded with %s, want %s", res.Structured, code)
	}
	if res.Err.Code != code {
		tb.Fatalf("the call ended with %s: %v, want %s", res.Err.Code, res.Err, code)
	}
	return res.Err
}

// posted counts the requests that a site has seen with a method and a path.
func posted(s *site.Site, method, path string) int {
	n := 0
	for _, r := range s.Requests() {
		if r.Method == method && strings.HasPrefix(r.Target, path) {
			n++
		}
	}
	return n
}
