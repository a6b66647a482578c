package browser_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/browser/browsertest"
)

// A common browser is launched when the first test asks for it, and closed by
// TestMain.
type common struct {
	once sync.Once
	dir  string
	b    *browser.Browser
	err  error
}

var lazy common

// shared returns the browser that the package's tests share. Chromium is
// required: without one the test fails and says how to install it.
func shared(tb testing.TB) *browser.Browser {
	tb.Helper()
	lazy.once.Do(lazy.launch)
	if lazy.err != nil {
		var e *abi.Error
		if errors.As(lazy.err, &e) && e.Hint != "" {
			tb.Fatalf("%v: %s", lazy.err, e.Hint)
		}
		tb.Fatal(lazy.err)
	}
	return lazy.b
}

func (c *common) launch() {
	if c.dir, c.err = os.MkdirTemp("", "browser-"); c.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c.b, c.err = browser.Launch(ctx, browser.Options{ProfileDir: c.dir, Headless: true, Logger: logger()})
}

func (c *common) close() error {
	var err error
	if c.b != nil {
		err = c.b.Close()
	}
	if c.dir != "" {
		err = errors.Join(err, os.RemoveAll(c.dir))
	}
	return err
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := lazy.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func logger() *slog.Logger {
	if !testing.Verbose() {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// TestLaunch runs the suite on a launched browser.
func TestLaunch(t *testing.T) {
	b := shared(t)
	browsertest.Run(t, browsertest.Subject{
		Browser: b, Whole: true, Long: long(), Foreign: foreign(b), Tabs: tabs(b), Crash: (*browser.Page).Crash,
		Fresh: func(ctx context.Context, t *testing.T) browsertest.Life {
			t.Helper()
			dir := t.TempDir()
			own := launch(ctx, t, browser.Options{ProfileDir: dir})
			kill := func() {
				if proc, err := os.FindProcess(own.Pid()); err != nil || proc.Kill() != nil {
					t.Error("the browser can't be killed")
				}
				<-own.Exited()
			}
			return browsertest.Life{Browser: own, Kill: kill, Again: func(ctx context.Context, t *testing.T) *browser.Browser {
				t.Helper()
				return launch(ctx, t, browser.Options{ProfileDir: dir}) // its profile is free again
			}}
		},
	})
}

// long reports whether make test-browser runs the tests.
func long() bool { return os.Getenv("DRAWBRIDGE_LONG") != "" }

func foreign(b *browser.Browser) func(*testing.T) browsertest.Foreign {
	return func(t *testing.T) browsertest.Foreign {
		t.Helper()
		f, err := b.NewForeign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
}

func tabs(b *browser.Browser) func(*testing.T) int {
	return func(t *testing.T) int {
		t.Helper()
		types, err := b.TargetTypes(deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		return types["page"] + types["other"]
	}
}
