package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// benchBackend has sixty-four tools, and answers at once.
type benchBackend struct {
	quiet
	defs []host.ToolDef
}

func newBenchBackend() benchBackend {
	var b benchBackend
	for i := range 64 {
		b.defs = append(b.defs, tool(fmt.Sprintf("t%d", i), "", true))
	}
	return b
}

func (b benchBackend) Tools(context.Context, host.Principal) []host.ToolDef { return b.defs }

func (benchBackend) Call(_ context.Context, r host.CallRequest) host.CallResult {
	return host.CallResult{Structured: json.RawMessage(`{"text":"hello world"}`), AuditID: "a"}
}

// bare is mcp-go alone, with the same tools and the same answer.
func bare64() *server.MCPServer {
	s := server.NewMCPServer("bare", "1", server.WithToolCapabilities(true))
	for i := range 64 {
		t := mcp.NewToolWithRawSchema(fmt.Sprintf("tracker_t%d", i), "Tool.", json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}}}`))
		s.AddTool(t, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultStructured(map[string]any{"text": "hello world"}, `{"text":"hello world"}`), nil
		})
	}
	return s
}

const (
	benchInit   = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`
	benchLegacy = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tracker_t40","arguments":{"id":7}}}`
	benchModern = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tracker_t40","arguments":{"id":7},` + modernMeta + `}}`
)

// BenchmarkStdio is one call at a time on a byte stream, against mcp-go alone.
func BenchmarkStdio(b *testing.B) {
	servers := map[string]func(context.Context, io.Reader, io.Writer) error{
		"drawbridge": func(ctx context.Context, in io.Reader, out io.Writer) error {
			return New(newBenchBackend(), Options{}).ServeStdio(ctx, in, out, alice)
		},
		"bare": func(ctx context.Context, in io.Reader, out io.Writer) error {
			return server.NewStdioServer(bare64()).Listen(ctx, in, out)
		},
	}
	for _, era := range []struct{ name, call string }{{"legacy", benchLegacy}, {"modern", benchModern}} {
		for _, name := range []string{"bare", "drawbridge"} {
			b.Run(era.name+"/"+name, func(b *testing.B) {
				inR, inW := io.Pipe()
				outR, outW := io.Pipe()
				ctx, cancel := context.WithCancel(b.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					_ = servers[name](ctx, inR, outW)
				}()
				lines := bufio.NewReader(outR)
				call := func(msg string) {
					if _, err := io.WriteString(inW, msg+"\n"); err != nil {
						b.Fatal(err)
					}
					if l, err := lines.ReadSlice('\n'); err != nil || !bytes.Contains(l, []byte("result")) {
						b.Fatalf("%v: %s", err, l)
					}
				}
				call(benchInit)
				for b.Loop() {
					call(era.call)
				}
				cancel()
				_ = inW.Close()
				_ = outW.Close()
				<-done
			})
		}
	}
}

// BenchmarkHTTP is one call at a time on one connection, against mcp-go alone.
func BenchmarkHTTP(b *testing.B) {
	for _, era := range []string{"legacy", "modern"} {
		for _, name := range []string{"bare", "drawbridge"} {
			b.Run(era+"/"+name, func(b *testing.B) {
				ts := httptest.NewUnstartedServer(nil)
				if name == "bare" {
					mux := http.NewServeMux()
					mux.Handle("/mcp", server.NewStreamableHTTPServer(bare64(), server.WithStateful(true)))
					ts.Config.Handler = mux
				} else {
					ts.Config = NewHTTPServer(New(newBenchBackend(), Options{}).Handler(tokens, HTTPOptions{Hosts: LocalHosts(ts.Listener)}))
				}
				ts.Start()
				defer ts.Close()
				session := ""
				call := func(msg string) {
					r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, ts.URL+"/mcp", bytes.NewReader([]byte(msg)))
					if err != nil {
						b.Fatal(err)
					}
					r.Header.Set("Content-Type", "application/json")
					r.Header.Set("Accept", "application/json, text/event-stream")
					r.Header.Set("Authorization", "Bearer alice-token")
					if era == "modern" {
						modernHeaders("tools/call", "tracker_t40")(r)
					} else if session != "" {
						r.Header.Set("Mcp-Session-Id", session)
					}
					resp, err := ts.Client().Do(r)
					if err != nil {
						b.Fatal(err)
					}
					body, err := io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					if err != nil || !bytes.Contains(body, []byte("result")) {
						b.Fatalf("%v: %s", err, body)
					}
					if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
						session = id
					}
				}
				if era == "legacy" {
					call(benchInit)
				}
				msg := benchLegacy
				if era == "modern" {
					msg = benchModern
				}
				for b.Loop() {
					call(msg)
				}
			})
		}
	}
}

// BenchmarkList is tools/list of 512 tools, without a transport.
func BenchmarkList(b *testing.B) {
	var backend benchBackend
	for i := range 512 {
		backend.defs = append(backend.defs, tool(fmt.Sprintf("t%d", i), "", true))
	}
	p := New(backend, Options{}).newPeer(alice)
	m, _ := parseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`))
	for b.Loop() {
		if r := p.answer(b.Context(), m, nowhere{}); r.code != 0 {
			b.Fatal(string(r.frame))
		}
	}
}

// BenchmarkLargeResult is a result of 4 MiB, without a transport.
func BenchmarkLargeResult(b *testing.B) {
	s := New(benchBackend{}, Options{})
	res := host.CallResult{Structured: json.RawMessage(`{"rows":["` + string(bytes.Repeat([]byte("row "), 1<<20)) + `"]}`)}
	for b.Loop() {
		if _, err := json.Marshal(s.result(b.Context(), res, defaultResult)); err != nil {
			b.Fatal(err)
		}
	}
}
