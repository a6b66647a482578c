package sandbox

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
)

// recorder is a host that keeps what a log sends.
type recorder struct{ lines []string }

func (*recorder) ask(string, []byte) ([]byte, error) { return nil, errors.New("not asked") }

func (r *recorder) log(level, text string) error {
	r.lines = append(r.lines, level+" "+text)
	return nil
}

func TestLogWriterKeepsItsBudget(t *testing.T) {
	r := &recorder{}
	l := &logWriter{host: r, left: 10}
	l.line("info", "12345")
	l.line("error", "67890")
	l.line("info", "x")
	l.line("info", "")
	if want := []string{"info 12345", "error 67890", "warn " + logTruncated}; !slices.Equal(r.lines, want) {
		t.Errorf("lines %q, want %q", r.lines, want)
	}
}

func TestLogStreamCutsLines(t *testing.T) {
	r := &recorder{}
	l := &logWriter{host: r, left: 1 << 20}
	w := l.stream("info")
	long := strings.Repeat("x", maxLogLine)
	for _, part := range []string{"one", " line\ntwo\n\n", long, long, "\nlast"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("wrote %d of %d, %v", n, len(part), err)
		}
	}
	l.flush()
	l.flush()
	if want := []string{"info one line", "info two", "info ", "info " + long, "info last"}; !slices.Equal(r.lines, want) {
		t.Errorf("lines %.20q, want %.20q", r.lines, want)
	}
}

func TestLogWriterMuted(t *testing.T) {
	r := &recorder{}
	l := &logWriter{host: r, left: 100, muted: true}
	l.line("info", "x")
	if len(r.lines) > 0 || l.left != 100 {
		t.Errorf("lines %q, %d left", r.lines, l.left)
	}
}

// TestGuestLogKeepsItsBudget is the host's own count, for a worker that has none.
func TestGuestLogKeepsItsBudget(t *testing.T) {
	lines := &logLines{}
	l := &guestLog{to: slog.New(slog.NewJSONHandler(lines, nil)), left: 10}
	for range 100 {
		if err := l.frame(t.Context(), named(kindLog, "info", []byte("abcd")).payload); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := lines.texts(t), []string{"abcd", "abcd", logTruncated}; !slices.Equal(got, want) {
		t.Errorf("lines %q, want %q", got, want)
	}
	empty := &guestLog{to: slog.New(slog.NewJSONHandler(lines, nil)), left: 10}
	for range 100 {
		_ = empty.frame(t.Context(), named(kindLog, "info", nil).payload)
	}
	if n := len(lines.texts(t)); n > 3+11 {
		t.Errorf("%d lines", n)
	}
}
