package main

import (
	"context"
	"io"
	"strings"
	"testing"
)

func TestRunSaysWhereAndWho(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &cancelOn{text: "settings", cancel: cancel}
	if err := run(ctx, []string{"-app-port=0", "-assets-port=0", "-identity-port=0"}, out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"http://tracker.localhost:", "http://assets.localhost:", "http://id.localhost:", "alice / Secret-alice-1", "bob / Secret-bob-1", "--set assets_url=http://assets.localhost:"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

// cancelOn ends the run when the last line was written.
type cancelOn struct {
	strings.Builder
	text   string
	cancel func()
}

func (c *cancelOn) Write(p []byte) (int, error) {
	if strings.Contains(string(p), c.text) {
		c.cancel()
	}
	return c.Builder.Write(p)
}

func TestHelp(t *testing.T) {
	var out, errs strings.Builder
	if code := doMain([]string{"-h"}, &out, &errs); code != 0 || !strings.Contains(errs.String(), "-identity-port") {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range [][]string{{"-nonsense"}, {"-app-port=x"}, {"-app-port=70000"}} {
		var out, errs strings.Builder
		if code := doMain(args, &out, &errs); code != 1 || !strings.Contains(errs.String(), "tracker-site: error:") {
			t.Errorf("%v: exit code %d, %q", args, code, errs.String())
		}
	}
}
