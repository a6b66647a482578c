package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// search searches for a text.
func (f *fixture) search(text string) ([]Hit, error) {
	hits, _, err := f.client.Search(f.t.Context(), Query{Text: text})
	return hits, err
}

func (f *fixture) refresh() {
	f.t.Helper()
	_, err := f.client.Refresh(f.t.Context(), f.id)
	f.must(err)
}

// put publishes a plugin that is made from the tracker's manifest by replacing text.
func (f *fixture) put(version string, replace ...string) {
	f.t.Helper()
	text := strings.NewReplacer(append(replace, "%s", version)...).Replace(manifest)
	m, err := release.ParseManifest([]byte(text))
	f.must(err)
	r, err := release.Build(m, release.BuildInfo{Registry: f.id, Namespace: "acme", Module: wasmOf(version), Imports: []string{"read"}})
	f.must(err)
	f.must(f.m.Publish(f.t.Context(), f.keys, f.submission(r, f.publisher)))
}

// shop publishes some plugins beside acme/tracker.
func (f *fixture) shop() {
	f.t.Helper()
	f.put("1.0.0", "name: tracker", "name: tracker-lite", "title: Tracker", "title: Small", "https://tracker.example", "https://small.example")
	f.put("1.0.0", "name: tracker", "name: mail", "title: Tracker", "title: Post", "Tickets.", "Letters, and a tracker of parcels.",
		"https://tracker.example/*", "https://*.post.example/*", "base_url: https://tracker.example", "base_url: https://post.example")
	f.put("1.0.0", "name: tracker", "name: jira", "title: Tracker", "title: Jira",
		"base_url: https://tracker.example", "base_url: \"{base_url}\"\n    settings: [{name: base_url, type: url, title: Address, required: true}]",
		"https://tracker.example/*", "{base_url}/*", "name: list", "name: find", "title: List", "title: Find issues")
	f.refresh()
}

func TestSearchRanksByWhereItFinds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.shop()
	for _, tt := range []struct {
		q    Query
		want string
	}{
		{Query{}, "jira mail tracker tracker-lite"},
		{Query{Text: "tracker"}, "tracker tracker-lite jira mail"}, // the name first; a tool's name before a description
		{Query{Text: "LITE"}, "tracker-lite"},
		{Query{Text: "letters"}, "mail"},
		{Query{Text: "tracker letters"}, "mail"}, // every word
		{Query{Text: "acme/mail"}, "mail"},
		{Query{Text: "tracker.example"}, "tracker"},
		{Query{Text: "https://tracker.example:8443/x?y"}, "tracker"},
		{Query{Text: "eu.post.example"}, "mail"},
		{Query{Text: "evilpost.example"}, ""},
		{Query{Text: "jira.corp.example"}, "jira"}, // the user's own address, called like the plugin
		{Query{Text: "tickets.corp.example", Known: map[string][]string{"acme/jira": {"tickets.corp.example"}}}, "jira"},
		{Query{Host: "small.example"}, "tracker-lite"},
		{Query{Host: "nowhere.example"}, ""},
		{Query{Tool: "find"}, "jira"},
		{Query{Tool: "FIND ISSUES"}, "jira"},
		{Query{Tool: "tracker_list", Text: "post"}, "mail"},
		{Query{Text: "nothing like it"}, ""},
		{Query{Category: abi.CategoryTool}, ""},
		{Query{Registry: "main", Text: "jira"}, "jira"},
	} {
		hits, refused, err := f.client.Search(t.Context(), tt.q)
		names := []string{}
		for _, h := range hits {
			names = append(names, h.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != tt.want || len(refused) != 0 {
			t.Errorf("%+v: %q, %v, %v; want %q", tt.q, got, refused, err, tt.want)
		}
	}
	if _, _, err := f.client.Search(t.Context(), Query{Registry: "other"}); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("a registry that nobody added: %v", err)
	}
	if _, _, err := f.client.Search(t.Context(), Query{Text: strings.Repeat("x", 600)}); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("a long query: %v", err)
	}
}

// Only connectors are offered unless others are asked for.
func TestSearchOffersConnectors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	text := "name: notes\nversion: 1.0.0\ncategory: mcp-server\ntitle: Notes\ndescription: Another server.\n"
	m, err := release.ParseManifest([]byte(text))
	f.must(err)
	r, err := release.Build(m, release.BuildInfo{Registry: f.id, Namespace: "acme", Module: wasmOf("1.0.0")})
	f.must(err)
	f.must(f.m.Publish(t.Context(), f.keys, f.submission(r, f.publisher)))
	f.refresh()
	for _, tt := range []struct {
		q    Query
		want int
	}{{Query{}, 1}, {Query{All: true}, 2}, {Query{Category: abi.CategoryMCPServer}, 1}, {Query{Text: "notes"}, 0}, {Query{Text: "notes", All: true}, 1}} {
		if hits, _, err := f.client.Search(t.Context(), tt.q); err != nil || len(hits) != tt.want {
			t.Errorf("%+v: %d hits, %v; want %d", tt.q, len(hits), err, tt.want)
		}
	}
}

func TestOffersAreTheNewestStableVersion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("1.1.0")
	f.put("0.9.0", "name: tracker", "name: early")
	f.must(f.m.Publish(t.Context(), f.keys, func() Submission {
		s := f.submission(f.releaseOf("2.0.0-rc.1"), f.publisher)
		s.Channel = Beta
		return s
	}()))
	f.refresh()
	version := func() string {
		f.t.Helper()
		hits, err := f.search("acme/tracker")
		if err != nil || len(hits) != 1 {
			t.Fatalf("%+v, %v", hits, err)
		}
		return hits[0].Version.Version
	}
	if v := version(); v != "1.1.0" {
		t.Errorf("it offers %s", v)
	}
	f.must(f.m.Yank(t.Context(), f.keys, tracker, "1.1.0", "broken"))
	f.refresh()
	if v := version(); v != "1.0.0" {
		t.Errorf("after the yank it offers %s", v)
	}
}

// Whoever holds the snapshot key, or the server, can't put a text into a search:
// only what a publisher signed is offered, and what isn't is told about.
func TestOffersAreVerified(t *testing.T) {
	t.Parallel()
	path := releasePath("acme", "tracker", "1.0.0")
	for name, tt := range map[string]struct {
		attack func(f *fixture)
		reason abi.Reason
		before bool // it was offered before
	}{
		"another publisher's signature": {func(f *fixture) {
			f.resign(func(files map[string][]byte) {
				sig, err := f.mallory.Sign(files[path], f.now)
				f.must(err)
				files[signaturePath(path)] = sig
			})
		}, abi.ReasonUnknownKey, false},
		"no signature": {func(f *fixture) {
			f.resign(func(files map[string][]byte) { delete(files, signaturePath(path)) })
		}, abi.ReasonUnsigned, false},
		"another text under the index": {func(f *fixture) {
			f.tamper(func(files map[string][]byte) { files[path] = edited(f.t, files[path], "Tickets.", "Tickens.") })
		}, abi.ReasonTampered, false},
		"another text in the index": {func(f *fixture) {
			f.resign(func(files map[string][]byte) {
				old := fileHash(files[path])
				files[path] = edited(f.t, files[path], "Tickets.", "Tickens.")
				index := indexPath("acme", "tracker")
				files[index] = edited(f.t, files[index], old.SHA256, hashOf(files[path]))
			})
		}, abi.ReasonBadSignature, false},
		"its publisher is revoked": {func(f *fixture) {
			f.revoke(Revocation{Keys: []signing.Fingerprint{f.publisher.Fingerprint()}, Reason: "stolen"})
		}, abi.ReasonKeyRevoked, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			if tt.before {
				if hits, err := f.search(""); err != nil || len(hits) != 1 {
					t.Fatalf("%+v, %v", hits, err)
				}
			}
			f.now = f.now.Add(time.Minute)
			tt.attack(f)
			f.refresh()
			for _, again := range []*Client{f.client, f.reopened()} {
				hits, refused, err := again.Search(t.Context(), Query{})
				if err != nil || len(refused) != 1 || refused[0].Plugin != "acme/tracker" || refused[0].Reason != tt.reason {
					t.Errorf("refused are %+v, %v; want reason %s", refused, err, tt.reason)
				}
				for text, want := range map[string]int{"tracker": 1, "tracker.example": 1, "jira": 0} {
					if _, refused, err := again.Search(t.Context(), Query{Text: text}); err != nil || len(refused) != want {
						t.Errorf("a search for %q: refused are %+v, %v; want %d", text, refused, err, want)
					}
				}
				if slices.ContainsFunc(hits, func(h Hit) bool { return h.Name == "tracker" }) {
					t.Errorf("it is offered: %+v", hits)
				}
			}
		})
	}
}

// reopened is a client that remembers nothing, on the same directory.
func (f *fixture) reopened() *Client {
	f.t.Helper()
	c, err := New(Config{Dir: f.client.cfg.Dir, Clock: f.clock})
	f.must(err)
	return c
}

// What was verified is kept, bound to the snapshot and to this directory's key.
func TestWhatWasVerifiedIsKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.search("")
	f.must(err)
	_, dir, err := f.client.registryState("main")
	f.must(err)
	file := filepath.Join(dir, marketFile)
	kept, err := os.ReadFile(file)
	f.must(err)
	if m := f.reopened().readMarket(dir, "main"); m == nil || len(m.Offers) != 1 {
		t.Fatalf("nothing is kept: %+v", m)
	}
	// Without the registry's copy there is nothing to verify with: what is kept is used.
	f.must(os.RemoveAll(filepath.Join(dir, "git")))
	if hits, _, err := f.reopened().Search(t.Context(), Query{}); err != nil || len(hits) != 1 {
		t.Errorf("from what is kept: %+v, %v", hits, err)
	}
	changed := []byte(strings.Replace(string(kept), "Tickets.", "Tickens.", 1))
	for name, data := range map[string][]byte{
		"changed": changed, "cut": kept[:len(kept)-2], "empty": {}, "no code": kept[65:], "longer": append(slices.Clone(kept), ' '),
	} {
		f.must(os.WriteFile(file, data, 0o600))
		if m := f.reopened().readMarket(dir, "main"); m != nil {
			t.Errorf("%s: it is believed", name)
		}
	}
	f.must(os.WriteFile(file, kept, 0o600))
	if m := f.reopened().readMarket(dir, "other"); m != nil {
		t.Error("it is believed for another registry")
	}
	f.must(os.WriteFile(filepath.Join(f.client.cfg.Dir, "market.key"), make([]byte, 32), 0o600))
	if m := f.reopened().readMarket(dir, "main"); m != nil {
		t.Error("it is believed under another key")
	}
	f.refresh()
	if hits, _, err := f.reopened().Search(t.Context(), Query{}); err != nil || len(hits) != 1 || hits[0].Description != "Tickets." {
		t.Errorf("made again: %+v, %v", hits, err)
	}
}

// A day later signatures are looked at again, because keys expire.
func TestWhatWasVerifiedIsVerifiedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.search("")
	f.must(err)
	first := f.client.markets.last["main"]
	f.now = f.now.Add(time.Hour)
	_, err = f.search("")
	f.must(err)
	if f.client.markets.last["main"] != first {
		t.Error("it was made again within the hour")
	}
	f.now = f.now.Add(recheck)
	_, err = f.search("")
	f.must(err)
	if again := f.client.markets.last["main"]; !again.Offers[0].Checked.After(first.Offers[0].Checked.Time) {
		t.Error("the signature wasn't looked at again")
	}
}

func TestSearchStopsWithItsCaller(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := f.client.Search(ctx, Query{}); err == nil {
		t.Error("no error")
	}
}
