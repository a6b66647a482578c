package browser_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/browser/browsertest"
)

var shared *browser.Browser

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "browser-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	shared, err = browser.Launch(ctx, browser.Options{ProfileDir: dir, Headless: true, Logger: logger()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.Close()
	return m.Run()
}

func logger() *slog.Logger {
	if !testing.Verbose() {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func TestSmoke(t *testing.T) {
	site := browsertest.NewSite(t)
	site.HTML("/list", `<title>List</title><table><tr class=r><td class=id>#12</td><td><a href="/t/12">Über</a></td></tr></table>`)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	p, err := shared.Open(ctx, browser.Policy{Check: func(browser.Request) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.Navigate(ctx, browser.Navigation{URL: site.URL("app", "/list"), Pages: abi.Pages{SignedIn: []abi.Condition{{Selector: "table"}}}})
	t.Log(v, err)
	x, err := p.Extract(ctx, abi.Extraction{Rows: "tr.r", Cols: []abi.Col{{Name: "id", Selector: ".id", Type: abi.TypeInt}, {Name: "u", Selector: "a", Kind: abi.KindURL}, {Name: "t", Selector: "a"}}})
	t.Log(string(x.Table), x.Rows, err)
	t.Log(p.Close())
}
