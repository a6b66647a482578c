package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// withToken adds a client's token to each request.
type withToken string

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(w))
	return http.DefaultTransport.RoundTrip(r)
}

// connectors make a client's transport to a server: a byte stream, or HTTP.
func connectors() map[string]func(*testing.T, *Server) sdk.Transport {
	return map[string]func(*testing.T, *Server) sdk.Transport{
		"stdio": func(t *testing.T, s *Server) sdk.Transport {
			t.Helper()
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = s.ServeStdio(context.WithoutCancel(t.Context()), inR, outW, alice)
				_ = outW.Close()
			}()
			t.Cleanup(func() {
				_ = inW.Close()
				<-done
			})
			return &sdk.IOTransport{Reader: outR, Writer: inW}
		},
		"http": func(t *testing.T, s *Server) sdk.Transport {
			t.Helper()
			return &sdk.StreamableClientTransport{
				Endpoint:   "http://" + serveHTTP(t, s) + "/mcp",
				HTTPClient: &http.Client{Transport: withToken("alice-token")},
				MaxRetries: -1,
			}
		},
	}
}

// everyClient yields the official Go client over both transports in both eras, by
// a name.
func everyClient(o sdk.ClientOptions) iter.Seq2[string, connected] {
	return func(yield func(string, connected) bool) {
		for transport, connect := range connectors() {
			for _, version := range []string{"2025-11-25", "2026-07-28"} {
				if !yield(transport+"/"+version, connected{o, connect, version}) {
					return
				}
			}
		}
	}
}

// connected is how a client is connected to a server.
type connected struct {
	options sdk.ClientOptions
	connect func(*testing.T, *Server) sdk.Transport
	version string
}

// start starts a server and connects the client.
func (o connected) start(t *testing.T) (*fakeBackend, *Server, *sdk.ClientSession) {
	t.Helper()
	b := newFakeBackend()
	s := New(b, Options{})
	c := sdk.NewClient(&sdk.Implementation{Name: "go-sdk", Version: "1.8.0"}, &o.options)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	session, err := c.Connect(ctx, o.connect(t, s), &sdk.ClientSessionOptions{ProtocolVersion: o.version})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != o.version {
		t.Fatalf("protocol version %q, want %q", got, o.version)
	}
	return b, s, session
}

func callSDK(ctx context.Context, s *sdk.ClientSession, name string, args any) (*sdk.CallToolResult, error) {
	return s.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
}

func onlyText(r *sdk.CallToolResult) string {
	if len(r.Content) != 1 {
		return fmt.Sprintf("%d contents", len(r.Content))
	}
	c, ok := r.Content[0].(*sdk.TextContent)
	if !ok {
		return fmt.Sprintf("%T", r.Content[0])
	}
	return c.Text
}

func TestSDKListsTools(t *testing.T) {
	for name, client := range everyClient(sdk.ClientOptions{}) {
		t.Run(name, func(t *testing.T) {
			_, _, c := client.start(t)
			list, err := c.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
				a := tool.Annotations
				if a == nil || a.DestructiveHint == nil || a.OpenWorldHint == nil {
					t.Errorf("%s: hints are not explicit: %+v", tool.Name, a)
				}
				if tool.OutputSchema == nil || tool.Meta[MetaCapability] != strings.Replace(tool.Name, "_", ".", 1) {
					t.Errorf("%s: output schema %v, meta %v", tool.Name, tool.OutputSchema, tool.Meta)
				}
			}
			if got := strings.Join(names, " "); got != "tracker_big tracker_broken tracker_delete tracker_echo tracker_empty tracker_fail tracker_list tracker_panic tracker_progress tracker_trap tracker_wait" {
				t.Errorf("tools %s", got)
			}
		})
	}
}

func TestSDKCallsTools(t *testing.T) {
	for name, client := range everyClient(sdk.ClientOptions{}) {
		t.Run(name, func(t *testing.T) {
			b, _, c := client.start(t)
			r, err := callSDK(t.Context(), c, "tracker_list", nil)
			if err != nil || r.IsError {
				t.Fatalf("list: %v %+v", err, r)
			}
			structured, err := json.Marshal(r.StructuredContent)
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"rows":[{"id":7,"title":"a <b> & ü"}]}`; canonical(t, string(structured)) != want || canonical(t, onlyText(r)) != want {
				t.Errorf("structured %s, text %s", structured, onlyText(r))
			}
			if got := b.seen()[0]; got.Client != "go-sdk 1.8.0" || got.Principal != alice || got.Tool != "tracker.list" {
				t.Errorf("the backend saw %+v", got)
			}

			r, err = callSDK(t.Context(), c, "tracker_fail", map[string]any{"id": 3})
			if err != nil || !r.IsError || r.StructuredContent != nil || r.Meta[MetaCode] != "auth_expired" {
				t.Errorf("fail: %v %+v", err, r)
			}
			if got := onlyText(r); got != "auth_expired: navigate: nobody is signed in at \"tracker.localhost\"\nhint: drawbridge login tracker" {
				t.Errorf("fail: text %q", got)
			}

			r, err = callSDK(t.Context(), c, "tracker_panic", nil)
			if err != nil || !r.IsError || !strings.HasPrefix(onlyText(r), "internal: internal error (audit incident ") {
				t.Errorf("panic: %v %q", err, onlyText(r))
			}
			if _, err = callSDK(t.Context(), c, "no_such_tool", nil); err == nil || !strings.Contains(err.Error(), "unknown tool") {
				t.Errorf("unknown tool: %v", err)
			}
			// The session survives all of it.
			if _, err = callSDK(t.Context(), c, "tracker.list", nil); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestSDKGetsEveryProgress(t *testing.T) {
	const runs, reports = 50, 5
	var mu sync.Mutex
	got := map[any][]float64{}
	o := sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		got[r.Params.ProgressToken] = append(got[r.Params.ProgressToken], r.Params.Progress)
	}}
	for name, client := range everyClient(o) {
		t.Run(name, func(t *testing.T) {
			_, _, c := client.start(t)
			for i := range runs {
				token := fmt.Sprintf("%s-%d", t.Name(), i)
				p := &sdk.CallToolParams{Name: "tracker_progress", Arguments: map[string]any{"n": reports}}
				p.SetProgressToken(token)
				if _, err := c.CallTool(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				// The client hands notifications to its handler beside the reply.
				await(t, "progress of "+token, func() bool {
					mu.Lock()
					defer mu.Unlock()
					return len(got[token]) >= reports
				})
				mu.Lock()
				if s := fmt.Sprint(got[token]); s != "[1 2 3 4 5]" {
					t.Errorf("run %d: progress %s", i, s)
				}
				mu.Unlock()
			}
		})
	}
}

func TestSDKCancels(t *testing.T) {
	for name, client := range everyClient(sdk.ClientOptions{}) {
		t.Run(name, func(t *testing.T) {
			b, _, c := client.start(t)
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan error, 1)
			go func() {
				_, err := callSDK(ctx, c, "tracker_wait", nil)
				result <- err
			}()
			b.awaitStarted(t, 1)
			cancel()
			if err := receive(t, result); err == nil {
				t.Error("a cancelled call returned no error")
			}
			if err := receive(t, b.ended); err == nil {
				t.Error("the backend's context did not end")
			}
			// One cancelled call must not cost the session.
			if _, err := callSDK(t.Context(), c, "tracker_list", nil); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

func TestSDKParallelCalls(t *testing.T) {
	for name, client := range everyClient(sdk.ClientOptions{}) {
		t.Run(name, func(t *testing.T) {
			_, _, c := client.start(t)
			var wg sync.WaitGroup
			for i := range 64 {
				wg.Go(func() {
					r, err := callSDK(t.Context(), c, "tracker_echo", map[string]any{"id": i})
					if err != nil {
						t.Errorf("call %d: %v", i, err)
						return
					}
					var out struct {
						Args struct{ ID int }
					}
					if err := json.Unmarshal([]byte(onlyText(r)), &out); err != nil || out.Args.ID != i {
						t.Errorf("call %d got %s", i, onlyText(r))
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestSDKHearsOfNewTools(t *testing.T) {
	heard := make(chan struct{}, 100)
	o := sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { heard <- struct{}{} }}
	for name, client := range everyClient(o) {
		t.Run(name, func(t *testing.T) {
			b, s, c := client.start(t)
			await(t, "the client to listen", func() bool {
				s.hub.mu.Lock()
				defer s.hub.mu.Unlock()
				return len(s.hub.listeners) > 0
			})
			b.setTools(tool("added", "", true))
			for range 300 {
				s.ToolsChanged()
			}
			receive(t, heard)
			list, err := c.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "tracker_added" {
				t.Errorf("tools afterwards: %v %v", list, err)
			}
			if n := len(heard); n > 2 {
				t.Errorf("300 changes at once became %d more notifications", n)
			}
		})
	}
}

func TestSDKClientsSeeTheirOwnTools(t *testing.T) {
	b := newFakeBackend()
	b.private = map[string][]host.ToolDef{"p-client-b": {tool("only_b", "", true)}}
	addr := serveHTTP(t, New(b, Options{}))
	for token, want := range map[string]int{"client-a": 11, "client-b": 1} {
		c := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, nil)
		s, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{
			Endpoint: "http://" + addr + "/mcp", HTTPClient: &http.Client{Transport: withToken(token)}, MaxRetries: -1,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != want {
			t.Errorf("%s: %d tools, want %d (%v)", token, len(list.Tools), want, err)
		}
		if _, err := callSDK(t.Context(), s, "tracker_only_b", nil); (err == nil) != (token == "client-b") {
			t.Errorf("%s: calling a tool of client-b: %v", token, err)
		}
		_ = s.Close()
	}
}
