package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/mcpserver"
	"github.com/drawbridge-mcp/drawbridge/test/bench/page"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// BenchmarkExtract measures one call that reads a loaded page, 50 rows of 12
// fields, through everything: MCP over a byte stream, the host, a module in its
// process, the guard, CDP. In turn with it, the same message over bare CDP in the
// same browser. Each lasts until its caller holds the table as strings. Calls are
// paced: the next one starts when the module's next instance is ready.
//
// It reports the medians in milliseconds and "ratio", which is (stack - guest) /
// raw, the median over turns. The guest's time is that of the module in the same
// call: its worker takes it, host calls not counted.
func BenchmarkExtract(b *testing.B) {
	var tp *tap
	own := &guestTimes{}
	w := harness.New(b, harness.Options{NoSite: true, Log: own, Wrap: func(t chromedp.Transport) chromedp.Transport {
		tp = newTap(t)
		return tp
	}})
	w.ReadyWith(manifest(b, servePage(b)), harness.Module(b, "test/bench/reader"))
	c := connect(b, w)
	c.list(b, `{"load":true}`)
	c.list(b, `{}`) // the message that the tap repeats

	var stack, raw, guest, ratio []float64
	for b.Loop() {
		pace(b)
		r := timed(func() { tp.table(b) })
		pace(b)
		s := timed(func() { c.list(b, `{}`) })
		g := float64(own.last.Load()) / 1e6
		stack, raw, guest = append(stack, s), append(raw, r), append(guest, g)
		ratio = append(ratio, (s-g)/r)
	}
	b.ReportMetric(median(stack), "stack-ms")
	b.ReportMetric(median(raw), "raw-ms")
	b.ReportMetric(median(guest), "guest-ms")
	b.ReportMetric(median(ratio), "ratio")
}

// guestTimes is a log that keeps the module's own time of the last call.
type guestTimes struct{ last atomic.Int64 }

func (*guestTimes) Enabled(context.Context, slog.Level) bool { return true }
func (g *guestTimes) WithAttrs([]slog.Attr) slog.Handler     { return g }
func (g *guestTimes) WithGroup(string) slog.Handler          { return g }

func (g *guestTimes) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "guest" && a.Value.Kind() == slog.KindDuration {
			g.last.Store(a.Value.Duration().Nanoseconds())
		}
		return true
	})
	return nil
}

// A table is what both ways end with.
type table struct {
	Cols []string   `json:"cols"`
	Rows [][]string `json:"rows"`
}

func (t table) check(b *testing.B) {
	b.Helper()
	if len(t.Rows) != page.Rows || len(t.Rows[0]) != page.Cols || t.Rows[page.Rows-1][page.Cols-1] != page.Cell(page.Rows-1, page.Cols-1) {
		b.Fatalf("the table has %d rows", len(t.Rows))
	}
}

func timed(f func()) float64 {
	start := time.Now()
	f()
	return float64(time.Since(start).Microseconds()) / 1000
}

// pace waits until a module's next instance is surely ready; it is not measured.
func pace(b *testing.B) {
	b.Helper()
	timer := time.NewTimer(60 * time.Millisecond)
	defer timer.Stop()
	<-timer.C
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

// servePage serves one page under a name of its own.
func servePage(b *testing.B) string {
	b.Helper()
	ts := httptest.NewServer(page.Handler())
	b.Cleanup(ts.Close)
	_, port, err := net.SplitHostPort(ts.Listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	return "http://bench.localhost:" + port
}

func manifest(b *testing.B, url string) []byte {
	b.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "plugin.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	return []byte(strings.ReplaceAll(string(text), "http://bench.localhost", url))
}

// A client speaks MCP over a byte stream, as one over stdio does.
type client struct {
	in  io.Writer
	out *bufio.Reader
	id  int
}

func connect(b *testing.B, w *harness.World) *client {
	b.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	srv := mcpserver.New(w.Host, mcpserver.Options{})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.ServeStdio(ctx, inR, outW, host.Principal{ID: "bench", Name: "bench"})
	}()
	b.Cleanup(func() {
		cancel()
		_ = inW.Close()
		_ = outR.Close()
		<-done
	})
	c := &client{in: inW, out: bufio.NewReaderSize(outR, 1<<20)}
	c.send(b, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	if _, err := io.WriteString(inW, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		b.Fatal(err)
	}
	return c
}

// send sends a request and returns the answer, unread.
func (c *client) send(b *testing.B, method, params string) []byte {
	b.Helper()
	c.id++
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params); err != nil {
		b.Fatal(err)
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		b.Fatal(err)
	}
	return line
}

// list runs the tool and reads the table.
func (c *client) list(b *testing.B, args string) {
	b.Helper()
	line := c.send(b, "tools/call", `{"name":"reader_list","arguments":`+args+`}`)
	var msg struct {
		Result struct {
			IsError           bool  `json:"isError"`
			StructuredContent table `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal(line, &msg); err != nil || msg.Result.IsError {
		b.Fatalf("call: %v: %.500s", err, line)
	}
	msg.Result.StructuredContent.check(b)
}
