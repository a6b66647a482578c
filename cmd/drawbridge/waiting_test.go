package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// Whoever makes a destructive call is told at once that it waits, and where to
// go; with --json too, and standard output stays the result's. Whoever follows
// the log sees the call when it has happened, and nothing of what it asked for.
func TestCallSaysThatAPersonIsAwaited(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	followed, stopFollowing := h.follow(`"tool":"sample.touch"`)
	cmd := h.command(t.Context(), "drawbridge", "--json", "call", "sample_touch", `{"text":"secret-argument"}`)
	var out bytes.Buffer
	told := &watched{want: "run drawbridge approvals", seen: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &out, told
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-told.seen:
	case <-time.After(time.Minute):
		t.Error("it waits silently")
	}
	id := h.waiting()
	h.want(0, []keystroke{{"refuses): ", codeShown}}, "approvals")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, told.text())
	}
	if !json.Valid(out.Bytes()) {
		t.Errorf("not JSON: %s", out.Bytes())
	}
	if text := told.text(); text != "sample.touch waits for a person ("+id+"): run drawbridge approvals in another terminal\n" {
		t.Errorf("it says %q", text)
	}
	select {
	case <-followed.seen:
	case <-time.After(time.Minute):
		t.Errorf("the call was not shown:\n%s", followed.text())
	}
	stopFollowing()
	if text := h.run("logs", "--limit", "0", "--level", "debug"); strings.Contains(text, "secret-argument") || !strings.Contains(text, "outcome=ok") {
		t.Errorf("the log:\n%s", text)
	}
	table := h.run("audit")
	for _, row := range []string{"sample.touch", "done"} {
		if !strings.Contains(table, row) {
			t.Errorf("no %q in\n%s", row, table)
		}
	}
	for line := range strings.Lines(table) {
		if begins := strings.Contains(line, " begin "); (begins || strings.Contains(line, " end ")) && !strings.Contains(line, " cli ") {
			t.Errorf("a row names no client: %s", line)
		}
	}
}

// follow runs logs --follow until the returned function ends it, which is no error.
func (h *home) follow(want string) (seen *watched, stop func()) {
	h.t.Helper()
	cmd := h.command(h.t.Context(), "drawbridge", "logs", "--follow", "--json")
	seen = &watched{want: want, seen: make(chan struct{})}
	cmd.Stdout = seen
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	return seen, func() {
		h.t.Helper()
		if err := signalStop(cmd.Process.Pid); err != nil {
			h.t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			h.t.Errorf("logs --follow ended with %v", err)
		}
	}
}

// watched is a writer that tells when a text has been written.
type watched struct {
	want string
	seen chan struct{}
	mu   sync.Mutex
	buf  bytes.Buffer
	once sync.Once
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.buf.Write(p)
	if strings.Contains(w.buf.String(), w.want) {
		w.once.Do(func() { close(w.seen) })
	}
	return n, err
}

func (w *watched) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// While a person reads what an install would grant, other commands go on, and
// the answer counts only for what is still so.
func TestAdministrationGoesOnWhileAPersonReads(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	h.run("registry", "init", "other.git", "--id", "other", "--key", "key", "--passphrase-fd", "0")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	q := h.ask(ctx, "install", "acme/sample", "--set", "base_url=http://other.localhost:1")
	h.run("search", "sam")
	h.run("list")
	h.want(3, []keystroke{{"refuses): ", "XXXXX"}}, "registry", "add", "other.git", h.fingerprint("key"))
	h.run("remove", "acme/sample")
	seen, code := q.agree()
	if code != exitDenied || !strings.Contains(seen, "changed while the question was open: nothing was installed") {
		t.Errorf("exit code %d: %s", code, seen)
	}
	if out := h.run("list", "--json"); !isEmpty(out) {
		t.Errorf("it was installed: %s", out)
	}
}

// A shownQuestion is a command that waits for a code.
type shownQuestion struct {
	h    *home
	ctx  context.Context //nolint:containedctx // of one test
	tty  *os.File
	code string
	wait func() int
}

// ask starts a command in a terminal and returns when it has asked.
func (h *home) ask(ctx context.Context, args ...string) *shownQuestion {
	h.t.Helper()
	cmd := h.command(ctx, "drawbridge", args...)
	tty, err := pty.Start(cmd)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = tty.Close() })
	var seen strings.Builder
	buf := make([]byte, 4096)
	for !strings.HasSuffix(seen.String(), "refuses): ") {
		n, err := tty.Read(buf)
		if err != nil {
			h.t.Fatalf("it never asked: %v\n%s", err, seen.String())
		}
		seen.Write(buf[:n])
	}
	return &shownQuestion{h: h, ctx: ctx, tty: tty, code: shownCode.FindStringSubmatch(seen.String())[1], wait: func() int {
		_ = cmd.Wait() // the exit code says it
		return cmd.ProcessState.ExitCode()
	}}
}

// agree types the code and waits for the command's end.
func (q *shownQuestion) agree() (string, int) {
	q.h.t.Helper()
	if _, err := io.WriteString(q.tty, q.code+"\n"); err != nil {
		q.h.t.Fatal(err)
	}
	seen, _ := play(q.ctx, q.tty, nil)
	return seen, q.wait()
}

// Ctrl-C ends a command that waits, which says that alone.
func TestInterruptIsSaid(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	cmd := h.command(t.Context(), "drawbridge", "call", "sample_touch", `{"text":"x"}`)
	told := &watched{want: "run drawbridge approvals", seen: make(chan struct{})}
	cmd.Stderr = told
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-told.seen:
	case <-time.After(time.Minute):
		t.Fatal("it does not wait")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != exitError {
		t.Errorf("it ended with %v", err)
	}
	if text := told.text(); !strings.HasSuffix(text, "\ndrawbridge: error: it was interrupted\n") {
		t.Errorf("it says %q", text)
	}
}
