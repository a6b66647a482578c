package logfile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func writer(t *testing.T, o Options) *Writer {
	t.Helper()
	w, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// put writes a record with some bytes of padding.
func put(t *testing.T, w *Writer, msg string, pad int) {
	t.Helper()
	line := fmt.Sprintf("{\"time\":\"2026-01-01T10:00:00Z\",\"level\":\"INFO\",\"msg\":%q,\"pad\":%q}\n", msg, strings.Repeat("x", pad))
	if _, err := w.Write([]byte(line)); err != nil {
		t.Fatal(err)
	}
}

func messages(list []Record) string {
	var names []string
	for _, r := range list {
		names = append(names, r.Msg)
	}
	return strings.Join(names, " ")
}

func read(t *testing.T, o Options, f Filter) []Record {
	t.Helper()
	list, err := Read(o, f)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A record is whole in one file, so many files are kept, and none grows beyond
// its limit.
func TestRotation(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "x.log"), MaxBytes: 300, Keep: 2}
	w := writer(t, o)
	for i := range 12 {
		put(t, w, fmt.Sprintf("m%d", i), 40)
	}
	files, err := filepath.Glob(o.Path + "*")
	if err != nil || len(files) != 3 {
		t.Errorf("files %q, %v", files, err)
	}
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil || info.Size() > o.MaxBytes || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if got := messages(read(t, o, Filter{})); got != "m6 m7 m8 m9 m10 m11" {
		t.Errorf("kept %q", got)
	}
	if got := messages(read(t, o, Filter{Limit: 2})); got != "m10 m11" {
		t.Errorf("the newest are %q", got)
	}
}

// A log that others may read is refused, and one that can't be put aside goes on.
func TestOpenRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Path: path}); err == nil {
		t.Error("others can read it")
	}
	o := Options{Path: filepath.Join(t.TempDir(), "y.log"), MaxBytes: 10, Keep: 1}
	w := writer(t, o)
	if err := os.MkdirAll(filepath.Join(o.Path+".1", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if n, err := w.Write([]byte("0123456789\n")); n != 11 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestFilter(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "x.log")}
	w := writer(t, o)
	for _, line := range []string{
		`{"time":"2026-01-01T10:00:00Z","level":"DEBUG","msg":"one"}`,
		`{"time":"2026-01-01T11:00:00Z","level":"INFO","msg":"two","tool":"a.b","ms":12,"deep":{"x":[1,2]}}`,
		"panic: it broke",
		`{"time":"2026-01-01T12:00:00Z","level":"ERROR","msg":"three"}`,
		`{"no":"time"}`, `{"time":"2026-01-01T12:00:00Z","msg":"cut`, `[1]`, "",
	} {
		if _, err := w.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	if got := messages(read(t, o, Filter{Level: slog.LevelInfo})); got != `two panic: it broke three {"no":"time"} {"time":"2026-01-01T12:00:00Z","msg":"cut [1] ` {
		t.Errorf("from info on: %q", got)
	}
	since := Filter{Level: slog.LevelDebug, Since: time.Date(2026, 1, 1, 10, 30, 0, 0, time.UTC)}
	if got := messages(read(t, o, since)); got != "two three" {
		t.Errorf("since: %q", got)
	}
	if got := messages(read(t, o, Filter{Level: slog.LevelError})); got != "three" {
		t.Errorf("errors: %q", got)
	}
	r := read(t, o, Filter{})[0]
	if r.Level != slog.LevelInfo || fmt.Sprint(r.Attrs) != `[{tool a.b} {ms 12} {deep {"x":[1,2]}}]` {
		t.Errorf("%+v", r)
	}
	if list := read(t, Options{Path: filepath.Join(t.TempDir(), "none")}, Filter{}); len(list) != 0 {
		t.Errorf("of no log: %v", list)
	}
}

// Whoever follows gets every record once, over files that are put aside.
func TestFollow(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "x.log"), MaxBytes: 400, Keep: 3}
	w := writer(t, o)
	put(t, w, "before", 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := make(chan string, 100)
	var done sync.WaitGroup
	done.Go(func() {
		err := Follow(ctx, o, Filter{}, func(r Record) error {
			seen <- r.Msg
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	want := func(name string) {
		t.Helper()
		select {
		case got := <-seen:
			if got != name {
				t.Fatalf("got %q, want %q", got, name)
			}
		case <-ctx.Done():
			t.Fatalf("%q never came", name)
		}
	}
	want("before")
	for i := range 12 { // each is read before the next, as a person would
		put(t, w, fmt.Sprint(i), 100)
		want(fmt.Sprint(i))
	}
	cancel()
	done.Wait()
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"time":"2026-01-01T10:00:00Z","level":"INFO","msg":"m","a":{"b":[1]}}`))
	f.Add([]byte(`{"time":1,"level":{},"msg":null}`))
	f.Add([]byte("panic"))
	f.Fuzz(func(t *testing.T, line []byte) {
		r := parse(line)
		if r.Raw == nil && r.Msg != string(line) {
			t.Errorf("%q is shown as %q", line, r.Msg)
		}
	})
}
