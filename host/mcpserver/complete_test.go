package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
)

// Complete of the fake backend has 250 numbers, and values that say what was asked.
func (b *fakeBackend) Complete(_ context.Context, r host.CompleteRequest) (host.Completion, error) {
	switch {
	case r.Prompt == "tracker_triage" && r.Arg == "id":
		var all []string
		for i := range 250 {
			if v := fmt.Sprint(i); strings.HasPrefix(v, r.Value) {
				all = append(all, v)
			}
		}
		return host.Completion{Values: all[:min(len(all), host.MaxCompletions)], Total: len(all)}, nil
	case r.Prompt == "tracker_busy":
		return host.Completion{}, abi.Errorf(abi.ErrLimitExceeded, "", "too much")
	case r.Prompt == "tracker_trap":
		return host.Completion{}, fmt.Errorf("open /home/u/.ssh/id")
	case r.Tool != "":
		return host.Completion{Values: []string{r.Tool + " " + r.Arg + " " + r.Value + " " + r.Principal.ID}, Total: 1}, nil
	}
	return host.Completion{}, abi.Errorf(abi.ErrNotFound, "", "no prompt %q has an argument %q", r.Prompt, r.Arg)
}

func TestSDKCompletes(t *testing.T) {
	prompt := func(name string) *sdk.CompleteReference {
		return &sdk.CompleteReference{Type: "ref/prompt", Name: name}
	}
	resource := func(uri string) *sdk.CompleteReference {
		return &sdk.CompleteReference{Type: "ref/resource", URI: uri}
	}
	list := "drawbridge://tools/tracker_list{?id}"
	for name, client := range everyClient(sdk.ClientOptions{}) {
		t.Run(name, func(t *testing.T) {
			_, _, c := client.start(t)
			complete := func(ref *sdk.CompleteReference, arg, value string) (*sdk.CompleteResult, error) {
				return c.Complete(t.Context(), &sdk.CompleteParams{Ref: ref, Argument: sdk.CompleteParamsArgument{Name: arg, Value: value}})
			}
			for _, tt := range []struct {
				ref        *sdk.CompleteReference
				arg, value string
				want       string
				total      int
			}{
				{prompt("tracker_triage"), "id", "24", "24 240 241 242 243 244 245 246 247 248 249", 11},
				{prompt("tracker_triage"), "id", "x", "", 0},
				{resource(list), "id", "1", "tracker.list id 1 p-alice", 1},
				{resource("drawbridge://connectors/{id}"), "id", "tr", "tracker", 1},
				{resource("drawbridge://connectors/{id}"), "id", "x", "", 0},
				{resource("drawbridge://audit{?before}"), "before", "AAAAAAAAAAAAAAAC", "AAAAAAAAAAAAAAAC", 1},
			} {
				r, err := complete(tt.ref, tt.arg, tt.value)
				if err != nil || strings.Join(r.Completion.Values, " ") != tt.want || r.Completion.Total != tt.total || r.Completion.HasMore {
					t.Errorf("%+v %s: %v %+v", tt.ref, tt.arg, err, r)
				}
			}
			if r, err := complete(prompt("tracker_triage"), "id", ""); err != nil || len(r.Completion.Values) != 100 || r.Completion.Total != 250 || !r.Completion.HasMore {
				t.Errorf("%v %+v", err, r)
			}
			for _, tt := range []struct {
				ref  *sdk.CompleteReference
				arg  string
				want string
			}{
				{prompt("nosuch"), "id", "no prompt"},
				{prompt("tracker_triage"), "nosuch", "no prompt"},
				{prompt("prompt"), "", "no prompt"},
				{prompt("tracker_busy"), "id", "too many requests"},
				{prompt("tracker_trap"), "id", "internal error"},
				{resource(list), "nosuch", "no template"},
				{resource("drawbridge://tools/tracker_list"), "id", "no template"},
				{resource("drawbridge://tools/tracker_delete{?id}"), "id", "no template"},
				{resource("file:///{x}"), "x", "no template"},
				{resource("drawbridge://audit{?before}"), "id", "no template"},
			} {
				if _, err := complete(tt.ref, tt.arg, ""); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "ssh") {
					t.Errorf("%+v %s: %v", tt.ref, tt.arg, err)
				}
			}
		})
	}
}

func TestCompletionIsReadStrictly(t *testing.T) {
	c := serveLines(t, New(newFakeBackend(), Options{}), alice)
	c.initialize()
	for _, params := range []string{
		`{}`, `{"ref":{"type":"ref/prompt","name":"tracker_triage"}}`, `{"argument":{"name":"id","value":""}}`,
		`{"ref":"tracker_triage","argument":{"name":"id","value":""}}`, `{"ref":{"type":"ref/tool","name":"tracker_list"},"argument":{"name":"id","value":""}}`,
		`{"ref":{"type":"ref/prompt"},"argument":{"name":"id","value":""}}`, `{"ref":{"type":"ref/prompt","name":""},"argument":{"name":"id","value":""}}`,
		`{"ref":{"type":"ref/prompt","name":"tracker_triage"},"argument":{"name":"id","value":1}}`,
		`{"ref":{"type":"ref/prompt","name":"tracker_triage"},"argument":{"name":"id"}}`,
		`{"ref":{"type":"ref/prompt","name":"tracker_triage"},"argument":["id",""]}`,
		`{"ref":{"type":"ref/prompt","name":"tracker_triage"},"argument":{"name":"id","value":"` + strings.Repeat("x", maxArgumentText) + `"}}`,
		`{"ref":{"type":"ref/resource"},"argument":{"name":"id","value":""}}`,
	} {
		c.send(`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":` + params + `}`)
		if got := c.recv(); !strings.Contains(got, "-32602") {
			t.Errorf("%.200s: %s", params, got)
		}
	}
}

// A tool that only reads is read like a resource, its arguments typed as its schema
// says; a tool that writes is none.
func TestSDKReadsToolsAsResources(t *testing.T) {
	for name, client := range everyClient(sdk.ClientOptions{}) {
		t.Run(name, func(t *testing.T) {
			b, _, c := client.start(t)
			var uris []string
			for r, err := range c.ResourceTemplates(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				uris = append(uris, r.URITemplate)
			}
			all := strings.Join(uris, " ")
			if !strings.Contains(all, "drawbridge://tools/tracker_list{?id}") || strings.Contains(all, "tracker_delete") {
				t.Errorf("templates %s", all)
			}
			if got := readText(t, c, "drawbridge://tools/tracker_echo?id=7"); !strings.Contains(got, `"args":{"id":7}`) || !strings.Contains(got, `"principal":"p-alice"`) {
				t.Errorf("echo: %s", got)
			}
			if got := readText(t, c, "drawbridge://tools/tracker_list"); !json.Valid([]byte(got)) {
				t.Errorf("list: %s", got)
			}
			before := len(b.seen())
			for uri, want := range map[string]string{
				"drawbridge://tools/tracker_delete?id=7": "not found", "drawbridge://tools/nosuch": "not found", "drawbridge://tools/tracker.echo": "not found",
				"drawbridge://tools/tracker_echo?id=x": "no argument", "drawbridge://tools/tracker_echo?id=": "no argument", "drawbridge://tools/tracker_echo?id=%7B%7D": "no argument",
				"drawbridge://tools/tracker_echo?nosuch=1": "no argument", "drawbridge://tools/tracker_echo?id=null": "no argument",
			} {
				if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v", uri, err)
				}
			}
			if n := len(b.seen()) - before; n != 0 {
				t.Errorf("%d calls were made", n)
			}
			if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "drawbridge://tools/tracker_fail"}); err == nil || !strings.Contains(err.Error(), "auth_expired") || !strings.Contains(err.Error(), "drawbridge login tracker") {
				t.Errorf("a call that fails: %v", err)
			}
		})
	}
}

func TestParseToolCall(t *testing.T) {
	for call, want := range map[string]string{
		"tracker_list": "tracker_list", "tracker_list?id=7": "tracker_list id=7", "t?a=&b=x%20y%2Fz": "t a= b=x y/z", "t?q=Gr%C3%BC%C3%9Fe": "t q=Grüße", "t?A=1&a=2": "t A=1 a=2",
	} {
		name, args, ok := parseToolCall(call)
		for _, a := range args {
			name += " " + a.name + "=" + a.value
		}
		if !ok || name != want {
			t.Errorf("%s is %q, %v", call, name, ok)
		}
	}
	for _, call := range []string{
		"", "?", "t?", "t?id", "t?=1", "t?id=1&", "t?&id=1", "t?id=1&id=2", "t?b=1&a=2", "t?id=1?x=2", "t?id=a b", "t?id=a+b", "t?id=%2f", "t?id=%41", "t?id=%", "t?id=%2", "t?id=%GG",
		"t?id=ü", "t?id=1#x", "t/x", "t%20?id=1", "t?i%64=1", "t?i-d=1", "../t", "t?id=a;b", "t?id=" + "\n", strings.Repeat("t", 65),
	} {
		if name, args, ok := parseToolCall(call); ok {
			t.Errorf("%q is %q %v", call, name, args)
		}
	}
}

func FuzzParseToolCall(f *testing.F) {
	for _, s := range []string{"tracker_list?id=7", "t?a=&b=x%20y", "t?q=%C3%BC"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, call string) {
		name, args, ok := parseToolCall(call)
		if !ok {
			return
		}
		again := name
		for i, a := range args {
			again += string("?&"[min(i, 1)]) + a.name + "=" + escape(a.value)
		}
		if again != call {
			t.Errorf("%q reads as %q %q, which is %q", call, name, args, again)
		}
	})
}
