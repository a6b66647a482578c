package clients

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

func open(t *testing.T) (*Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config", "clients.json")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s, path
}

func add(t *testing.T, s *Store, name string) (string, Client) {
	t.Helper()
	token, c, err := s.Add(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return token, c
}

func TestLife(t *testing.T) {
	s, path := open(t)
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("at first %v, %v", list, err)
	}
	token, c := add(t, s, "laptop")
	token2, c2 := add(t, s, "desktop-2")
	if token == token2 || c.ID == c2.ID || !strings.HasPrefix(token, TokenPrefix) || len(token) != 47 {
		t.Errorf("%q is %+v, %q is %+v", token, c, token2, c2)
	}
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, store := range []*Store{s, again} {
		if p, ok := store.Authenticate(token); !ok || p != (gate.Principal{ID: c.ID, Name: "laptop"}) {
			t.Errorf("laptop's token is %+v's, %v", p, ok)
		}
		if p, ok := store.Authenticate(token2); !ok || p.Name != "desktop-2" {
			t.Errorf("desktop's token is %+v's, %v", p, ok)
		}
		list, err := store.List()
		if err != nil || len(list) != 2 || list[0] != c2 || list[1] != c {
			t.Errorf("list is %+v, %v", list, err)
		}
	}
	// Another process revokes; this one refuses at once.
	if gone, err := again.Revoke(t.Context(), "laptop"); err != nil || gone != c {
		t.Errorf("revoked %+v, %v", gone, err)
	}
	if p, ok := s.Authenticate(token); ok || p != (gate.Principal{}) {
		t.Errorf("a revoked token is %+v's", p)
	}
	if _, ok := s.Authenticate(token2); !ok {
		t.Error("the other token is refused too")
	}
	// The name is free again, the token is another's.
	token3, c3 := add(t, s, "laptop")
	if _, ok := s.Authenticate(token); ok || token3 == token || c3.ID == c.ID {
		t.Error("the old token came back")
	}
}

// Trust comes with a new token, ends with Distrust, and is nobody else's.
func TestTrust(t *testing.T) {
	s, path := open(t)
	token, c := add(t, s, "laptop")
	_, other := add(t, s, "desktop-2")
	if s.MayAsk(c.ID) || s.MayAsk("") || s.MayAsk("c_0") {
		t.Error("somebody may ask from the start")
	}
	again, err := Open(path) // another process
	if err != nil {
		t.Fatal(err)
	}
	fresh, trusted, err := again.Trust(t.Context(), "laptop")
	if err != nil || trusted.ID != c.ID || !trusted.MayAsk {
		t.Fatalf("trusted %+v, %v", trusted, err)
	}
	if !s.MayAsk(c.ID) || s.MayAsk(other.ID) || s.MayAsk("laptop") {
		t.Errorf("laptop may ask: %v, the other: %v", s.MayAsk(c.ID), s.MayAsk(other.ID))
	}
	if _, ok := s.Authenticate(token); ok {
		t.Error("the token from before is still good")
	}
	if p, ok := s.Authenticate(fresh); !ok || p.ID != c.ID {
		t.Errorf("the new token is %+v's, %v", p, ok)
	}
	if got, err := s.Distrust(t.Context(), "laptop"); err != nil || got.MayAsk || again.MayAsk(c.ID) {
		t.Errorf("distrusted %+v, %v", got, err)
	}
	if _, ok := s.Authenticate(fresh); !ok {
		t.Error("the token went with the trust")
	}
	if _, _, err := s.Trust(t.Context(), "nobody"); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("trusting nobody: %v", err)
	}
	if _, err := s.Distrust(t.Context(), "nobody"); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("distrusting nobody: %v", err)
	}
	if _, _, err := s.Trust(t.Context(), "laptop"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if s.MayAsk(c.ID) {
		t.Error("a file that others may read says who may ask")
	}
}

func TestFileHoldsNoToken(t *testing.T) {
	s, path := open(t)
	token, _ := add(t, s, "laptop")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.TrimPrefix(token, TokenPrefix); strings.Contains(string(data), text[:10]) {
		t.Errorf("the token is in %s", data)
	}
	for _, p := range []string{path, path + ".lock"} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", info.Mode(), err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestAuthenticateRefuses(t *testing.T) {
	s, path := open(t)
	token, _ := add(t, s, "laptop")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	hash := data[strings.Index(string(data), "sha256:"):][:71]
	flipped := []byte(token)
	flipped[20] ^= 1
	last := []byte(token) // the last character holds two bits too many
	last[46] ^= 1
	bad := []string{
		"", " ", TokenPrefix, token[:46], token + "A", " " + token, token + "\n", strings.ToLower(token), strings.TrimPrefix(token, TokenPrefix),
		"Bearer " + token, string(hash), TokenPrefix + string(hash), TokenPrefix + strings.Repeat("A", 43), string(flipped), string(last),
		token[:46] + "=", strings.Repeat("x", 1<<20),
	}
	for i := range bad[1:] {
		if slices.Contains(bad[:i+1], bad[i+1]) {
			t.Fatalf("case %d is another's", i+1)
		}
	}
	for _, b := range bad {
		if p, ok := s.Authenticate(b); ok || p != (gate.Principal{}) {
			t.Errorf("%.60q is %+v's token", b, p)
		}
	}
	if _, ok := s.Authenticate(token); !ok {
		t.Error("the token itself is refused")
	}
}

func TestNames(t *testing.T) {
	s, _ := open(t)
	for _, name := range []string{
		"", "-a", "A", "laptop ", "lap top", "läptop", "a_b", "a.b", "../x", "a\n", "a\x00", strings.Repeat("a", 32), strings.Repeat("a", 100_000), "\u202ea",
	} {
		_, _, err := s.Add(t.Context(), name)
		if !errors.Is(err, abi.ErrInvalidArgs) || len(err.Error()) > 200 {
			t.Errorf("name %.40q: %v", name, err)
		}
	}
	for _, name := range []string{"a", "0", "a-", "0-9", strings.Repeat("a", 31)} {
		add(t, s, name)
		_, _, err := s.Add(t.Context(), name)
		var e *abi.Error
		if !errors.As(err, &e) || e.Code != abi.ErrInvalidArgs || e.Hint != "drawbridge clients revoke "+name {
			t.Errorf("second %q: %v", name, err)
		}
	}
	if _, err := s.Revoke(t.Context(), "nobody"); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("revoking nobody: %v", err)
	}
}

func TestTooMany(t *testing.T) {
	s, path := open(t)
	list := make([]entry, MaxClients)
	for i := range list {
		list[i] = entry{ID: newID(), Name: "c" + strings.Repeat("x", i%20) + string(rune('a'+i/20)), Token: hashOf(newID()), Created: time.Unix(1, 0).UTC()}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(path, list); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Add(t.Context(), "one-more"); !errors.Is(err, abi.ErrLimitExceeded) {
		t.Errorf("one more: %v", err)
	}
}

func TestModes(t *testing.T) {
	s, path := open(t)
	token, _ := add(t, s, "laptop")
	for _, mode := range []os.FileMode{0o640, 0o604, 0o644, 0o660, 0o602} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		var e *abi.Error
		if !errors.As(err, &e) || e.Code != abi.ErrForbidden || e.Hint != "chmod 600 "+path {
			t.Errorf("mode %o: %v", mode, err)
		}
		if _, ok := s.Authenticate(token); ok {
			t.Errorf("mode %o: a token is accepted", mode)
		}
		if _, _, err := s.Add(t.Context(), "more"); err == nil {
			t.Errorf("mode %o: a client was added", mode)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Authenticate(token); !ok {
		t.Error("after chmod the token is refused")
	}
}

const good = `{
  "v": 1,
  "clients": [
    {
      "id": "c_0123456789abcdef",
      "name": "laptop",
      "token": "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
      "created": "2026-11-30T12:00:00Z"
    }
  ]
}
`

func TestGolden(t *testing.T) {
	list := []entry{
		{ID: "c_0123456789abcdef", Name: "laptop", Token: hashOf(TokenPrefix + strings.Repeat("A", 43)), Created: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)},
		{ID: "c_fedcba9876543210", Name: "desktop-2", Token: hashOf(TokenPrefix + strings.Repeat("B", 42) + "A"), Created: time.Date(2026, 12, 1, 0, 0, 1, 0, time.UTC), MayAsk: true},
	}
	got, err := format(list)
	if err != nil {
		t.Fatal(err)
	}
	want := golden.Check(t, filepath.Join("testdata", "clients.json"), got)
	if back, err := parse(want); err != nil || !slices.Equal(back, list) {
		t.Errorf("read back %+v, %v", back, err)
	}
}

func TestParseRefuses(t *testing.T) {
	if _, err := parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	entry := good[strings.Index(good, "    {\n"):strings.Index(good, "\n  ]")]
	for name, change := range map[string][2]string{
		"empty":             {good, ""},
		"no object":         {good, "[]"},
		"cut off":           {"}\n", ""},
		"trailing":          {"]\n}", "]\n} {}"},
		"version":           {`"v": 1`, `"v": 2`},
		"no version":        {`"v": 1,`, ``},
		"key twice":         {`"v": 1,`, `"v": 1, "v": 1,`},
		"clients twice":     {`"v": 1,`, `"v": 1, "clients": [],`},
		"key in capitals":   {`"name"`, `"Name"`},
		"capitals beside":   {`"name": "laptop",`, `"name": "laptop", "NAME": "root",`},
		"long s":            {`"clients"`, `"clientſ"`},
		"unknown key":       {`"v": 1,`, `"v": 1, "admin": true,`},
		"unknown in client": {`"name": "laptop",`, `"name": "laptop", "admin": true,`},
		"null list":         {good, `{"v":1,"clients":null}`},
		"no id":             {`"id": "c_0123456789abcdef",`, ``},
		"id in capitals":    {"c_0123456789abcdef", "c_0123456789ABCDEF"},
		"id too short":      {"c_0123456789abcdef", "c_01"},
		"bad name":          {"laptop", "Lap top"},
		"override in name":  {"laptop", "lap\u202etop"},
		"token in the open": {"sha256:aaaa", "dbc_aaaa"},
		"other hash":        {"sha256:", "md5:"},
		"token too short":   {"sha256:aa", "sha256:"},
		"no time":           {"2026-11-30T12:00:00Z", "0001-01-01T00:00:00Z"},
		"time zone":         {"12:00:00Z", "12:00:00+01:00"},
		"time as number":    {`"2026-11-30T12:00:00Z"`, `1`},
		"fraction":          {"12:00:00Z", "12:00:00.5Z"},
		"same client twice": {entry, entry + "," + entry},
		"not UTF-8":         {"laptop", "\xff"},
		"huge":              {"{\n", "{" + strings.Repeat(" ", maxFile)},
	} {
		if !strings.Contains(good, change[0]) {
			t.Fatalf("%s changes nothing", name)
		}
		if got, err := parse([]byte(strings.Replace(good, change[0], change[1], 1))); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestMalformedFile(t *testing.T) {
	s, path := open(t)
	token, _ := add(t, s, "laptop")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, '{'), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Authenticate(token); ok {
		t.Error("a token is accepted")
	}
	_, err = Open(path)
	var e *abi.Error
	if !errors.As(err, &e) || e.Code != abi.ErrUntrusted || e.Reason != abi.ReasonMalformed || e.Hint == "" {
		t.Errorf("error %v", err)
	}
	if strings.Contains(err.Error(), "sha256:") {
		t.Errorf("the error shows a hash: %v", err)
	}
	if _, _, err := s.Add(t.Context(), "more"); err == nil {
		t.Error("the file was replaced")
	}
}

// Stores of their own, as processes have, lose none of each other's changes.
func TestHammerAdd(t *testing.T) {
	_, path := open(t)
	var wg sync.WaitGroup
	var added atomic.Int32
	for i := range 16 {
		wg.Go(func() {
			s, err := Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			token, _, err := s.Add(t.Context(), "client-"+string(rune('a'+i)))
			if err != nil { // it may have waited too long for the lock
				t.Log(err)
				return
			}
			added.Add(1)
			if _, ok := s.Authenticate(token); !ok {
				t.Error("a new token is refused")
			}
		})
	}
	wg.Wait()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(); err != nil || len(list) != int(added.Load()) || len(list) == 0 {
		t.Errorf("%d were added, %d are there, %v", added.Load(), len(list), err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"v":1,"clients":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parse(data)
		if err != nil {
			return
		}
		out, err := format(list)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parse(out)
		if err != nil || !slices.Equal(back, list) {
			t.Errorf("%q became %q: %v", data, out, err)
		}
	})
}
