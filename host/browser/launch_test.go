package browser_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

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

// TestLaunch runs the suite on a launched browser.
func TestLaunch(t *testing.T) {
	browsertest.Run(t, browsertest.Subject{Browser: shared, Foreign: func(t *testing.T) browsertest.Foreign {
		t.Helper()
		f, err := shared.NewForeign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}})
}
