package audit

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// filled is a closed log of 20 calls and an event: 41 rows.
func filled(t *testing.T) Options {
	t.Helper()
	opts := paths(t)
	l := openLog(t, opts)
	for range 20 {
		end(t, l, begin(t, l, entry()), Outcome{})
	}
	if err := l.Note(t.Context(), Event{Name: "install"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return opts
}

// edit changes the database behind the log's back.
func edit(t *testing.T, opts Options, statements ...string) {
	t.Helper()
	s, err := connect(opts.Path, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range statements {
		if _, err := s.db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}

func TestTampering(t *testing.T) {
	tests := []struct {
		name     string
		edit     []string
		at       int64  // of the first problem
		detail   string // of it
		refused  bool   // at Open
		problems int    // at least
	}{
		{"nothing", nil, 0, "", false, 0},
		{"text", []string{`update log set text = replace(text, 'add_comment', 'list') where seq = 7`}, 7, "not as it was written", false, 1},
		{"one byte", []string{`update log set text = text || ' ' where seq = 7`}, 7, "not as it was written", false, 1},
		{"time", []string{`update log set at = at + 1 where seq = 9`}, 9, "not as it was written", false, 1},
		{"link", []string{`update log set link = zeroblob(32) where seq = 9`}, 9, "not as it was written", false, 2},
		{"short link", []string{`update log set link = x'00' where seq = 9`}, 9, "not as it was written", false, 2},
		{"previous link", []string{`update log set prev = zeroblob(32) where seq = 9`}, 9, "does not follow", false, 2},
		{"removed", []string{`delete from log where seq = 9`}, 10, "rows 9 to 9 are missing", false, 1},
		{"removed at the start", []string{`delete from log where seq < 5`}, 5, "rows 1 to 4 are missing", false, 1},
		{"removed, and the gap closed", []string{`delete from log where seq = 9`, `update log set seq = seq - 1 where seq > 9`}, 9, "does not follow", true, 2},
		{"swapped", []string{`update log set seq = 1000 where seq = 3`, `update log set seq = 3 where seq = 5`, `update log set seq = 5 where seq = 1000`}, 3, "does not follow", false, 2},
		{"inserted", []string{
			`create table t as select * from log where seq >= 9`, `delete from log where seq >= 9`,
			`insert into log select seq + 1, at, text, prev, link from t`, `insert into log select seq, at, text, prev, link from t where seq = 9`, `drop table t`,
		}, 10, "does not follow", true, 2},
		{"copied to the end", []string{`insert into log select 42, at, text, prev, link from log where seq = 41`}, 42, "does not follow", true, 2},
		{"cut off", []string{`delete from log where seq > 30`}, 30, "ends at row 30, and 41 were written", true, 1},
		{"the last row", []string{`delete from log where seq = 41`}, 40, "ends at row 40, and 41 were written", true, 1},
		{"everything", []string{`delete from log`}, 0, "ends at row 0, and 41 were written", true, 1},
		{"the last row changed", []string{`update log set text = replace(text, 'install', 'remove') where seq = 41`}, 41, "not as it was written", true, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opts := filled(t)
			edit(t, opts, tt.edit...)
			r, err := OpenReader(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			rep := verify(t, r)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if len(rep.Problems) < tt.problems || tt.problems == 0 && len(rep.Problems) > 0 {
				t.Fatalf("report %+v", rep)
			}
			if tt.problems > 0 && (rep.Problems[0].Seq != tt.at || !strings.Contains(rep.Problems[0].Detail, tt.detail)) {
				t.Errorf("first problem %+v, want %d: %s", rep.Problems[0], tt.at, tt.detail)
			}
			l, err := Open(t.Context(), opts)
			if err == nil {
				defer func() { _ = l.Close() }()
			}
			var e *abi.Error
			if tt.refused != (errors.As(err, &e) && e.Code == abi.ErrUntrusted && e.Reason == abi.ReasonTampered && e.Hint != "") {
				t.Errorf("Open: %v", err)
			}
		})
	}
}

func TestHeadFile(t *testing.T) {
	tests := []struct {
		name   string
		change func(*testing.T, Options)
		detail string // empty: no problem
	}{
		{"removed", func(t *testing.T, o Options) {
			t.Helper()
			must(t, os.Remove(headPath(o.Path)))
		}, "its head file is gone"},
		{"emptied", func(t *testing.T, o Options) {
			t.Helper()
			must(t, os.Truncate(headPath(o.Path), 0))
		}, "its head file is gone"},
		{"damaged", func(t *testing.T, o Options) {
			t.Helper()
			flip(t, o, 0, 5)
			flip(t, o, 1, 5)
		}, "it is damaged"},
		{"cut short", func(t *testing.T, o Options) {
			t.Helper()
			must(t, os.Truncate(headPath(o.Path), 40))
		}, "it is damaged"},
		{"newest slot torn", func(t *testing.T, o Options) {
			t.Helper()
			flip(t, o, 1, 80)
		}, ""}, // row 41 is in slot 1
		{"older slot torn", func(t *testing.T, o Options) {
			t.Helper()
			flip(t, o, 0, 80)
		}, ""},
		{"another log's", func(t *testing.T, o Options) {
			t.Helper()
			other := filled(t)
			data, err := os.ReadFile(headPath(other.Path))
			must(t, err)
			must(t, os.WriteFile(headPath(o.Path), data, 0o600))
		}, "it is damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opts := filled(t)
			tt.change(t, opts)
			r, err := OpenReader(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			rep := verify(t, r)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if tt.detail == "" && len(rep.Problems) > 0 || tt.detail != "" && (len(rep.Problems) == 0 || !strings.Contains(rep.Problems[0].Detail, tt.detail)) {
				t.Errorf("report %+v, want %q", rep, tt.detail)
			}
			l, err := Open(t.Context(), opts)
			if (err == nil) != (tt.detail == "") {
				t.Errorf("Open: %v", err)
			}
			if err == nil { // it goes on as if nothing had been
				begin(t, l, entry())
				if rep := verify(t, l); len(rep.Problems) != 0 {
					t.Errorf("after another row: %+v", rep)
				}
				must(t, l.Close())
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, opts Options, slot, at int) {
	t.Helper()
	data, err := os.ReadFile(headPath(opts.Path))
	must(t, err)
	data[slot*slotSize+at] ^= 1
	must(t, os.WriteFile(headPath(opts.Path), data, 0o600))
}

func TestKey(t *testing.T) {
	for name, change := range map[string]func(string){
		"removed":     func(p string) { must(t, os.Remove(p)) },
		"emptied":     func(p string) { must(t, os.Truncate(p, 0)) },
		"cut short":   func(p string) { must(t, os.Truncate(p, 63)) },
		"not hex":     func(p string) { must(t, os.WriteFile(p, []byte(strings.Repeat("xy", 32)+"\n"), 0o600)) },
		"too long":    func(p string) { must(t, os.WriteFile(p, []byte(strings.Repeat("ab", 33)+"\n"), 0o600)) },
		"another key": func(p string) { must(t, os.WriteFile(p, []byte(strings.Repeat("ab", 32)+"\n"), 0o600)) },
	} {
		opts := filled(t)
		change(opts.KeyPath)
		_, err := Open(t.Context(), opts)
		if !errors.Is(err, abi.ErrUntrusted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	opts := filled(t)
	before, err := os.ReadFile(opts.KeyPath)
	must(t, err)
	l := openLog(t, opts)
	must(t, l.Close())
	after, err := os.ReadFile(opts.KeyPath)
	must(t, err)
	if !bytes.Equal(before, after) || len(before) != 65 {
		t.Errorf("key %q became %q", before, after)
	}
}

func FuzzHead(f *testing.F) {
	k, err := deriveKeys(make([]byte, keySize))
	if err != nil {
		f.Fatal(err)
	}
	real := append(head{seq: 2, link: link{1}}.encode(k), head{seq: 1}.encode(k)...)
	f.Add(real)
	f.Add([]byte("2 00 00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := parseHead(data, k)
		if err == nil && h.seq != 0 && !bytes.Contains(data, head{seq: 2, link: link{1}}.encode(k)) && !bytes.Contains(data, head{seq: 1}.encode(k)) {
			t.Errorf("%q holds head %d", data, h.seq)
		}
	})
}

func FuzzDecodeRow(f *testing.F) {
	f.Add(`{"v":1,"kind":"end","begin":1,"end":{"ok":true,"duration_ms":1}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := recordOf(stored{seq: 1, text: text}); err != nil {
			return
		}
	})
}
