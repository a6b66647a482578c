package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/mcpserver"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

const (
	benchRows = 50
	benchCols = 12
)

// BenchmarkExtract measures one call that reads a loaded page, 50 rows of 12
// fields, through everything: MCP over a byte stream, the host, a module in its
// process, the guard, CDP. In turn with it, the same message over bare CDP in
// the same browser, and the module's own time for the same answer. Calls are
// paced: the next one starts when the module's next instance is ready. A call
// lasts from the first byte of the request to the last one of the answer.
//
// It reports the medians in milliseconds and "ratio", which is (stack - guest) /
// raw, the median over turns.
func BenchmarkExtract(b *testing.B) {
	var tp *tap
	w := harness.New(b, harness.Options{NoSite: true, Wrap: func(t chromedp.Transport) chromedp.Transport {
		tp = newTap(t)
		return tp
	}})
	page := servePage(b)
	module := harness.Module(b, "test/bench/reader")
	w.ReadyWith(manifest(b, page), module)
	c := connect(b, w)
	c.list(b, `{"load":true}`)
	g := newGuest(b, module, c.list(b, `{}`))

	var stack, raw, guest, ratio []float64
	for b.Loop() {
		pace(b)
		r := timed(func() { tapOnce(b, tp) })
		gt := g.call(b)
		pace(b)
		s := c.timedList(b)
		stack, raw, guest = append(stack, s), append(raw, r), append(guest, gt)
		ratio = append(ratio, (s-gt)/r)
	}
	b.ReportMetric(median(stack), "stack-ms")
	b.ReportMetric(median(raw), "raw-ms")
	b.ReportMetric(median(guest), "guest-ms")
	b.ReportMetric(median(ratio), "ratio")
}

func tapOnce(b *testing.B, tp *tap) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
	defer cancel()
	if n, err := tp.raw(ctx); err != nil || n < 1000 {
		b.Fatalf("raw call: %d bytes, %v", n, err)
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
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><title>Bench</title><link rel=icon href="data:,"><table id=list><tbody>`)
		for r := range benchRows {
			fmt.Fprint(w, "<tr class=row>")
			for c := range benchCols {
				fmt.Fprintf(w, `<td class="c%d"><span>value %d of row %d, ü</span></td>`, c, c, r)
			}
			fmt.Fprint(w, "</tr>")
		}
		fmt.Fprint(w, "</tbody></table>")
	}))
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

// list runs the tool and returns the table.
func (c *client) list(b *testing.B, args string) json.RawMessage {
	b.Helper()
	return tableOf(b, c.send(b, "tools/call", `{"name":"reader_list","arguments":`+args+`}`))
}

// timedList is list with the page loaded; it returns milliseconds.
func (c *client) timedList(b *testing.B) float64 {
	b.Helper()
	var line []byte
	ms := timed(func() { line = c.send(b, "tools/call", `{"name":"reader_list","arguments":{}}`) })
	tableOf(b, line)
	return ms
}

func tableOf(b *testing.B, line []byte) json.RawMessage {
	b.Helper()
	var msg struct {
		Result struct {
			IsError           bool            `json:"isError"`
			StructuredContent json.RawMessage `json:"structuredContent"`
		} `json:"result"`
	}
	var table struct{ Rows [][]string }
	err := json.Unmarshal(line, &msg)
	if err == nil {
		err = json.Unmarshal(msg.Result.StructuredContent, &table)
	}
	if err != nil || msg.Result.IsError || len(table.Rows) != benchRows || len(table.Rows[0]) != benchCols {
		b.Fatalf("call: %v: %.500s", err, line)
	}
	return msg.Result.StructuredContent
}
