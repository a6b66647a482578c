package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
)

// extending answers tracker_list in several ways, and leaves the rest alone.
func extending(_ context.Context, x *Exchange) (map[string]any, error) {
	if x.Method() == "resources/subscribe" {
		return map[string]any{}, nil
	}
	name, _ := text(x.Param("name"))
	switch args := string(x.Param("arguments")); {
	case name != "tracker_list":
		return nil, nil
	case strings.Contains(args, "code"):
		return nil, &ExtensionError{Code: -32021, Message: "declare it", Data: []string{"sampling"}}
	case strings.Contains(args, "secret"):
		return nil, errors.New("open /home/u/.ssh/id")
	case strings.Contains(args, "unmarshalable"):
		return map[string]any{"f": func() {}}, nil
	}
	x.Notify("notifications/message", map[string]any{"data": x.Declares("sampling")})
	return map[string]any{"content": []any{}}, nil
}

func TestExtension(t *testing.T) {
	addr := serveHTTP(t, New(newFakeBackend(), Options{Extension: extending}))
	session := beginSession(t, addr)
	call := func(name, args string) (legacy, modern string) {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":{` + args + `}`
		legacy = strings.Join(framesOf(t, post(t, addr, body+`}}`, session)), "\n")
		modern = strings.Join(framesOf(t, post(t, addr, body+`,`+modernMeta+`}}`, modernHeaders("tools/call", name))), "\n")
		return legacy, modern
	}
	const note = `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":false}}` + "\n"
	for _, tt := range []struct{ args, legacy, modern string }{
		{"", note + `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, note + `{"jsonrpc":"2.0","id":1,"result":{"content":[],"resultType":"complete"}}`},
		{`"code":1`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"declare it","data":["sampling"]}}`, ""},
		{`"secret":1`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`, ""},
		{`"unmarshalable":1`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`, ""},
	} {
		legacy, modern := call("tracker_list", tt.args)
		if tt.modern == "" {
			tt.modern = tt.legacy
		}
		if legacy != tt.legacy || modern != tt.modern {
			t.Errorf("%s:\n%s\n%s", tt.args, legacy, modern)
		}
	}
	// What it leaves alone reaches the backend, and what is not listed reaches nobody.
	if legacy, _ := call("tracker_echo", ""); !strings.Contains(legacy, `"structuredContent":{"args":{}`) {
		t.Errorf("echo: %s", legacy)
	}
	if legacy, _ := call("tracker_unknown", ""); !strings.Contains(legacy, `unknown tool`) {
		t.Errorf("unknown: %s", legacy)
	}
}

// A method that the server doesn't know is the extension's in the old era alone,
// and without one nobody's.
func TestExtensionMethods(t *testing.T) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x"`
	for _, tt := range []struct {
		extension Extension
		modern    bool
		want      string
	}{
		{extending, false, `"result":{}`},
		{extending, true, `"error":{"code":-32601`},
		{nil, false, `"error":{"code":-32601`},
	} {
		addr := serveHTTP(t, New(newFakeBackend(), Options{Extension: tt.extension}))
		var r *http.Response
		if tt.modern {
			r = post(t, addr, body+`,`+modernMeta+`}}`, modernHeaders("resources/subscribe", ""))
		} else {
			r = post(t, addr, body+`}}`, beginSession(t, addr))
		}
		if got := bodyOf(t, r); !strings.Contains(got, tt.want) {
			t.Errorf("extension %t, modern %t: %s", tt.extension != nil, tt.modern, got)
		}
	}
}
