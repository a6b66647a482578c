package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

// The whole format: rows, links and head, for a key that is known.
func TestGolden(t *testing.T) {
	opts := paths(t)
	opts.Clock = ticking()
	if err := platform.CreateDir(filepath.Dir(opts.KeyPath)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(opts.KeyPath, []byte(strings.Repeat("0123456789abcdef", 4)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := openLog(t, opts)
	id := begin(t, l, entry())
	end(t, l, id, Outcome{Duration: 1234567890, Result: json.RawMessage(`{"ok":true}`), Requests: 1})
	read := Entry{PrincipalID: "c_2", Principal: "desktop", Connector: "tracker", Tool: "tracker.list", Basis: "policy"}
	end(t, l, begin(t, l, read), Outcome{Code: abi.ErrAuthExpired, Message: "nobody is signed in"})
	if err := l.Note(t.Context(), Event{Name: "install", Actor: "terminal pts/1, process 4242", Subject: "acme/tracker@1.2.3", Detail: "asked for by the user"}); err != nil {
		t.Fatal(err)
	}
	begin(t, l, read)

	var got strings.Builder
	err := l.read.each(t.Context(), func(r stored) error {
		fmt.Fprintf(&got, "%d %d\n%x\n%x\n%s\n", r.seq, r.at, r.prev, r.link, r.text)
		return nil
	}, columns+"order by seq")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join("testdata", "rows.golden"), []byte(got.String()))
	head, err := os.ReadFile(headPath(opts.Path))
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join("testdata", "head.golden"), head)
}

func TestCall(t *testing.T) {
	opts := paths(t)
	opts.Clock = ticking()
	l := openLog(t, opts)
	id := begin(t, l, entry())
	if id != "a1" {
		t.Errorf("id %q", id)
	}
	if rep := verify(t, l); rep.Rows != 1 || rep.Open != 1 || len(rep.Problems) != 0 {
		t.Errorf("between: %+v", rep)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the caller left: its end is written all the same
	if err := l.End(ctx, id, Outcome{Code: abi.ErrOutcomeUnknown, Duration: time.Second}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Begin(ctx, entry()); !errors.Is(err, context.Canceled) {
		t.Errorf("began for a caller that had left: %v", err)
	}
	rep := verify(t, l)
	if rep.Rows != 2 || rep.Last != 2 || rep.Open != 0 || len(rep.Problems) != 0 || len(rep.Link) != 64 {
		t.Errorf("after: %+v", rep)
	}
	list, err := l.List(t.Context(), Filter{})
	if err != nil || len(list) != 2 || list[0].ID != id || list[0].Tool != "tracker.add_comment" || list[1].ID != id || list[1].Code != abi.ErrOutcomeUnknown {
		t.Errorf("list %+v, %v", list, err)
	}
	if !list[1].At.After(list[0].At) || list[0].At.Location() != time.UTC {
		t.Errorf("times %v, %v", list[0].At, list[1].At)
	}
}

func TestEndRefuses(t *testing.T) {
	l := openLog(t, paths(t))
	id := begin(t, l, entry())
	if err := l.Note(t.Context(), Event{Name: "install"}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []ID{"", "a", "a0", "a-1", "a01", "1", "b1", "a2", "a99", "a1 ", "a9999999999999999999"} {
		if err := l.End(t.Context(), bad, Outcome{}); err == nil {
			t.Errorf("%q was ended", bad)
		}
	}
	end(t, l, id, Outcome{})
	if err := l.End(t.Context(), id, Outcome{}); err == nil {
		t.Error("one call ended twice")
	}
	if rep := verify(t, l); rep.Rows != 3 || len(rep.Problems) != 0 {
		t.Errorf("%+v", rep)
	}
}

func TestNoSecretIsStored(t *testing.T) {
	opts := paths(t)
	l := openLog(t, opts)
	e := entry()
	e.Args = json.RawMessage(`{"password":"p1-secret","text":"it is hunter2 or aHVudGVyMg==","url":"/x?sectok=s1-secret","n":1}`)
	e.Client, e.CallID, e.Origin = "agent hunter2", "hunter%32", "https://ada:u1-secret@tracker.example"
	id := begin(t, l, e)
	end(t, l, id, Outcome{Code: abi.ErrForbidden, Message: "no, hunter2", Result: json.RawMessage(`{"x":"r1-secret"}`)})
	if err := l.Note(t.Context(), Event{Name: "login", Subject: "hunter2", Detail: "token=t1-secret"}); err != nil {
		t.Fatal(err)
	}
	list, err := l.List(t.Context(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		for _, secret := range []string{"hunter", "aHVudGVy", "-secret"} {
			if strings.Contains(string(r.Row), secret) {
				t.Errorf("%q is in %s", secret, r.Row)
			}
		}
	}
	if row := string(list[0].Row); !strings.Contains(row, `"n":1`) || !strings.Contains(row, `"args_hmac":"hmac-sha256:`) {
		t.Errorf("row %s", row)
	}
	// And nowhere in the files either.
	files, err := filepath.Glob(filepath.Dir(opts.Path) + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "hunter2") || strings.Contains(string(data), "-secret") {
			t.Errorf("a secret is in %s", f)
		}
	}
}

func TestArgsHMAC(t *testing.T) {
	l := openLog(t, paths(t))
	hmacOf := func(e Entry) string {
		t.Helper()
		id := begin(t, l, e)
		list, err := l.List(t.Context(), Filter{Call: id})
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		r, err := decodeRow(string(list[0].Row))
		if err != nil {
			t.Fatal(err)
		}
		return r.Call.ArgsHMAC
	}
	a, b := entry(), entry()
	b.Args = json.RawMessage(`{"id":12,"text":"Grüße <&>","token":"another"}`) // the same when redacted
	first := hmacOf(a)
	if first != hmacOf(a) || first == hmacOf(b) {
		t.Error("the HMAC does not name the arguments")
	}
	other := openLog(t, paths(t))
	if first == other.keys.contentHMAC(domainArgs, a.Args) || first == l.keys.contentHMAC(domainResult, a.Args) {
		t.Error("the HMAC does not depend on key and purpose")
	}
}

func TestHostileText(t *testing.T) {
	l := openLog(t, paths(t))
	e := entry()
	e.Client = "\x1b[2J\x00\xff\u202e" + strings.Repeat("ü", 100_000)
	e.Tool = strings.Repeat("x", 1<<20)
	e.Args = json.RawMessage(`{"a":"` + strings.Repeat("y", 200_000) + `"}`)
	id := begin(t, l, e)
	bad := entry()
	bad.Args = json.RawMessage("{\"a\":\"\xff\"} trailing")
	begin(t, l, bad)
	end(t, l, id, Outcome{Code: abi.Code(strings.Repeat("z", 10_000)), Message: strings.Repeat("\\\"\n", 10_000)})
	list, err := l.List(t.Context(), Filter{})
	if err != nil || len(list) != 3 {
		t.Fatal(len(list), err)
	}
	for _, r := range list {
		if len(r.Row) > 20_000 || !json.Valid(r.Row) || !utf8.Valid(r.Row) || strings.ContainsAny(string(r.Row), "\x00\x1b\n") {
			t.Errorf("row of %d bytes: %.200q", len(r.Row), r.Row)
		}
	}
	if rep := verify(t, l); len(rep.Problems) != 0 {
		t.Errorf("%+v", rep)
	}
}

func TestFilter(t *testing.T) {
	opts := paths(t)
	opts.Clock = ticking()
	l := openLog(t, opts)
	a := entry()
	b := entry()
	b.CallID, b.Tool, b.Principal = "c2", "tracker.list", "desktop"
	ia, ib := begin(t, l, a), begin(t, l, b) // 12:00:01, :02
	end(t, l, ib, Outcome{})                 // :03
	end(t, l, ia, Outcome{})                 // :04
	if err := l.Note(t.Context(), Event{Name: "revoke"}); err != nil {
		t.Fatal(err)
	}
	at := func(s int) time.Time { return time.Date(2026, 11, 30, 12, 0, s, 0, time.UTC) }
	for name, tt := range map[string]struct {
		f    Filter
		want []int64
	}{
		"all":                {Filter{}, []int64{1, 2, 3, 4, 5}},
		"the newest":         {Filter{Limit: 2}, []int64{4, 5}},
		"begins":             {Filter{Kind: KindBegin}, []int64{1, 2}},
		"events":             {Filter{Kind: KindEvent}, []int64{5}},
		"tool":               {Filter{Tool: "tracker.list"}, []int64{2, 3}},
		"principal":          {Filter{Principal: "laptop"}, []int64{1, 4}},
		"one call":           {Filter{Call: ia}, []int64{1, 4}},
		"what was told":      {Filter{CallID: "c2"}, []int64{2, 3}},
		"no call":            {Filter{Call: "a9"}, nil},
		"since":              {Filter{Since: at(3)}, []int64{3, 4, 5}},
		"until":              {Filter{Until: at(3)}, []int64{1, 2}},
		"tool and principal": {Filter{Tool: "tracker.list", Principal: "laptop"}, nil},
		"no injection":       {Filter{Tool: "' or true --"}, nil},
	} {
		list, err := l.List(t.Context(), tt.f)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, r := range list {
			got = append(got, r.Seq)
		}
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestModesAndOneWriter(t *testing.T) {
	opts := paths(t)
	l := openLog(t, opts)
	begin(t, l, entry())
	files, err := filepath.Glob(filepath.Dir(opts.Path) + "/*")
	if err != nil || len(files) < 5 { // database, write-ahead log, shared memory, head, lock
		t.Fatalf("files %q, %v", files, err)
	}
	for _, f := range append(files, opts.KeyPath) {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", f, info.Mode(), err)
		}
	}
	var held *platform.HeldError
	if _, err := Open(t.Context(), opts); !errors.As(err, &held) {
		t.Errorf("a second writer: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Begin(t.Context(), entry()); err == nil {
		t.Error("a row in a closed log")
	}
	for _, f := range []string{opts.Path, opts.KeyPath, headPath(opts.Path)} {
		if err := os.Chmod(f, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), opts)
		var e *abi.Error
		if !errors.As(err, &e) || e.Code != abi.ErrForbidden || e.Hint != "chmod 600 "+f {
			t.Errorf("%s: %v", f, err)
		}
		if err := os.Chmod(f, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(t.Context(), opts); err != nil {
		t.Errorf("after chmod: %v", err)
	}
}

func TestOddPath(t *testing.T) {
	opts := paths(t)
	opts.Path = filepath.Join(filepath.Dir(opts.Path), "a ?b#c%20&d=e", "audit.db")
	l := openLog(t, opts)
	begin(t, l, entry())
	if _, err := os.Stat(opts.Path); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(opts.Path); err != nil || info.Size() == 0 {
		t.Errorf("the log is somewhere else: %v", err)
	}
}

func TestReader(t *testing.T) {
	opts := paths(t)
	if _, err := OpenReader(t.Context(), opts); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("before there is a log: %v", err)
	}
	l := openLog(t, opts)
	id := begin(t, l, entry())
	for range 2 { // beside the writer, and without it
		r, err := OpenReader(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		if rep := verify(t, r); rep.Rows != 1 || rep.Open != 1 || len(rep.Problems) != 0 {
			t.Errorf("%+v", rep)
		}
		if list, err := r.List(t.Context(), Filter{}); err != nil || len(list) != 1 {
			t.Errorf("%+v, %v", list, err)
		}
		if err := r.Note(t.Context(), Event{Name: "x"}); err == nil {
			t.Error("a reader wrote")
		}
		if err := r.End(t.Context(), id, Outcome{}); err == nil {
			t.Error("a reader wrote")
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHammer(t *testing.T) {
	l := openLog(t, paths(t))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 10 {
				id, err := l.Begin(t.Context(), entry())
				if err != nil {
					t.Error(err)
					return
				}
				if err := l.End(t.Context(), id, Outcome{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 5 { // while it grows
		if rep := verify(t, l); len(rep.Problems) != 0 {
			t.Errorf("%+v", rep)
		}
	}
	wg.Wait()
	if rep := verify(t, l); rep.Rows != 320 || rep.Open != 0 || len(rep.Problems) != 0 {
		t.Errorf("%+v", rep)
	}
}
