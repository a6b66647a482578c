package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func TestRequest(t *testing.T) {
	for _, tt := range []struct{ name, says, want, err string }{
		{"an answer", `{"id":1,"result":{"a":1}}`, `{"id":1,"result":{"a":1}}`, ""},
		{"after a notification", `{"method":"notifications/x"}` + "\n" + `{"id":1,"result":{}}`, `{"id":1,"result":{}}`, ""},
		{"after an answer to nothing", `{"id":7,"result":{}}` + "\n" + `{"id":1,"result":{}}`, `{"id":1,"result":{}}`, ""},
		{"after a request with the same id", `{"id":1,"method":"roots/list"}` + "\n" + `{"id":1,"result":{}}`, `{"id":1,"result":{}}`, ""},
		{"an error", `{"id":1,"error":{"code":-32602,"message":"bad"}}`, "", "error -32602: bad"},
		{"not JSON", `starting…`, "", "reading a message"},
		{"the end", ``, "", "has ended"},
		{"only notifications", `{"method":"notifications/x"}`, "", "has ended"},
		{"another id's text", `{"id":"1","result":{}}`, "", "has ended"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newRPC(strings.NewReader(tt.says), nopCloser{io.Discard})
			got, err := c.request(t.Context(), "tools/list", map[string]any{})
			switch {
			case tt.err == "" && (err != nil || string(got) != tt.want):
				t.Errorf("request = %s, %v", got, err)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("request = %v, want %q", err, tt.err)
			}
		})
	}
}

func TestAServersRequestIsRefused(t *testing.T) {
	var sent bytes.Buffer
	c := newRPC(strings.NewReader(`{"id":"r1","method":"roots/list"}`+"\n"+`{"id":1,"result":{}}`), nopCloser{&sent})
	if _, err := c.request(t.Context(), "tools/list", map[string]any{}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(sent.String(), "\n"); len(lines) < 2 || !strings.Contains(lines[1], `"id":"r1"`) || !strings.Contains(lines[1], "-32601") {
		t.Errorf("sent %q", lines)
	}
}

func TestASilentServerIsGivenUp(t *testing.T) {
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newRPC(r, nopCloser{io.Discard}).request(ctx, "tools/list", nil); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("request = %v", err)
	}
}

func TestParseAnswer(t *testing.T) {
	line := `{"id":1,"result":{"content":[{"type":"text","text":"ab"},{"type":"image","data":"AAAA"},{"type":"text","text":"c"}],"structuredContent":{"x":1}}}`
	if a, err := parseAnswer([]byte(line)); err != nil || a.text != "abc" || a.bytes != len(line)+1 {
		t.Errorf("parseAnswer = %+v, %v", a, err)
	}
	for _, tt := range []struct{ line, want string }{
		{`{"id":1,"result":{"content":[{"type":"text","text":"it broke"}],"isError":true}}`, "the tool failed: it broke"},
		{`{"id":1,"result":{"isError":true}}`, "the tool failed"},
		{`{"id":1,"result":[]}`, "cannot unmarshal"},
		{`{`, "unexpected end"},
	} {
		if a, err := parseAnswer([]byte(tt.line)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("parseAnswer(%s) = %+v, %v; want %q", tt.line, a, err, tt.want)
		}
	}
}

func TestLastBytesKeepsTheEnd(t *testing.T) {
	l := &lastBytes{}
	for range 1000 {
		_, _ = l.Write([]byte("noise "))
	}
	_, _ = l.Write([]byte("why\n"))
	if s := l.String(); len(s) > maxSaid || !strings.HasSuffix(s, "why") {
		t.Errorf("kept %d bytes, ending in %q", len(s), s[max(0, len(s)-10):])
	}
}
