// Command peers measures drawbridge beside two other MCP servers that drive a
// browser, @playwright/mcp and chrome-devtools-mcp: the same page, the same
// Chromium, in one run, in turn. "make bench-peers" runs it.
//
// Every server is a process of its own that is spoken to over stdio. drawbridge is
// the built command with a connector that is signed, published and installed as a
// user would (bridge.go); the others are what package-lock.json pins (npm.go). Start
// at measure.go for what is measured and in which order.
//
// What a server can't do is in the table as its error, and never left out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/test/bench/page"
	"github.com/drawbridge-mcp/drawbridge/test/bench/results"
)

// The flags.
type options struct {
	exe      string // the built command
	source   string // top of the repository
	out      results.Output
	sessions int
	reads    int // of the loaded page, in each session
	loads    int // of going to the page and reading it, in each session
}

func main() {
	var o options
	flag.StringVar(&o.exe, "drawbridge", ".bin/drawbridge", "the built command")
	flag.StringVar(&o.source, "source", ".", "top of the repository")
	o.out.Flags(flag.CommandLine)
	flag.IntVar(&o.sessions, "sessions", 5, "how often every server is started")
	flag.IntVar(&o.reads, "reads", 6, "how often the page is read in a session")
	flag.IntVar(&o.loads, "loads", 3, "how often the page is loaded and read in a session")
	flag.Parse()
	os.Exit(results.Main("bench-peers", func(ctx context.Context) error { return run(ctx, o, os.Stdout, os.Stderr) }))
}

func run(ctx context.Context, o options, stdout, progress io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "drawbridge-peers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r, err := measureAll(ctx, o, dir, progress)
	if err != nil {
		return err
	}
	return o.out.Write(stdout, "peers", r.table(), r)
}

// measureAll prepares everything in dir and measures.
func measureAll(ctx context.Context, o options, dir string, progress io.Writer) (*report, error) {
	source, err := filepath.Abs(o.source)
	if err != nil {
		return nil, err
	}
	chromium, err := browser.Find()
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(progress, "installing the other servers from npm, as package-lock.json pins them")
	npm, err := installPeers(ctx, source)
	if err != nil {
		return nil, err
	}
	site := httptest.NewServer(page.Handler())
	defer site.Close()
	_, port, err := net.SplitHostPort(site.Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	url := "http://bench.localhost:" + port
	fmt.Fprintln(progress, "publishing and installing a connector")
	b, err := newBridge(ctx, o.exe, source, dir, url)
	if err != nil {
		return nil, err
	}
	ours, err := b.server(ctx)
	if err != nil {
		return nil, err
	}
	servers := []*server{ours}
	for _, p := range npm.servers(chromium, url+"/") {
		p.dir = filepath.Join(dir, "peers", p.key)
		if err := os.MkdirAll(p.dir, 0o700); err != nil {
			return nil, err
		}
		p.env = append(peerEnv(), "HOME="+p.dir)
		servers = append(servers, p)
	}
	r := &report{Machine: describe(ctx, chromium, npm.node), Sessions: o.sessions, Reads: o.reads, Loads: o.loads}
	m := &meter{servers: servers, reads: o.reads, loads: o.loads, progress: progress}
	if err := m.run(ctx, o.sessions); err != nil {
		return nil, err
	}
	r.Machine.LoadAfter = loadAverage()
	r.fill(m)
	return r, nil
}
