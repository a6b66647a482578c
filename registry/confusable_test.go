package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi/release"
)

func TestLooksLike(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"acme/tracker", "acne/tracker"},         // one letter of the namespace
		{"acme/tracker", "acrne/tracker"},        // rn for m
		{"acme/tracker", "evil/tracker"},         // the name in another namespace
		{"acme/tracker", "evil/trakcer"},         // two letters swapped
		{"acme/tracker", "evil/tracker5"},        // a plural, said with a digit
		{"acme/tracker", "acme/trackers"},        // a plural
		{"acme/issue", "acme/issues"},            // another one
		{"acme/tool", "acme/t00l"},               // 0 for o
		{"acme/clinic", "evil/c1in1c"},           // and those two for d
		{"acme/oracle", "evil/0rac1e"},           // two of them
		{"acme/jira", "acme/iira"},               // i for j
		{"acme/list", "acme/1ist"},               // 1 for l, which is no name, but may be asked about
		{"acme/bug-tracker", "acme/tracker-bug"}, // words in another order
		{"acme/bug-tracker", "acme/bugtracker"},  // without the dash
		{"acme/bug_tracker", "acme/bug-tracker"},
		{"acme/requesttracker", "acme/requestracket"}, // two letters of many
		{"a-team/x", "ateam/x"},
	} {
		for _, p := range [][2]string{pair, {pair[1], pair[0]}} {
			if why, ok := LooksLike(p[0], p[1]); !ok || why == "" {
				t.Errorf("%q does not look like %q", p[0], p[1])
			}
		}
	}
	for _, pair := range [][2]string{
		{"acme/tracker", "acme/tracker"}, // it is the same
		{"acme/wiki", "acme/wifi"},       // short words
		{"acme/tracker", "acme/mantis"},
		{"acme/tracker", "acne/mantis"}, // the namespaces are near, the plugins are not
		{"acme/tracker", "acme/cracked"},
		{"acme/wiki", "corp/wikis"}, // nobody's wiki is everybody's
		{"acme/jira", "acme/gira-board"},
	} {
		if why, ok := LooksLike(pair[0], pair[1]); ok {
			t.Errorf("%q looks like %q: %s", pair[0], pair[1], why)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"ab", "ba", 1}, {"abc", "abd", 1}, {"abcd", "acbd", 1}, {"kitten", "sitting", 3}, {"x", "y", 1}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestReservedNames(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"con": true, "aux": true, "com1": true, "lpt9": true, "nul.json": true, "com": false, "console": false, "com10": false, "comx": false} {
		if reservedName(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}

// publishAs publishes a plugin under another name, by a publisher of that
// namespace.
func (f *fixture) publishAs(namespace, name, version string, by Signer) {
	f.t.Helper()
	f.now = f.now.Add(1e9)
	f.must(f.m.Publish(f.t.Context(), f.keys, f.submissionAs(namespace, name, version, by)))
}

func (f *fixture) submissionAs(namespace, name, version string, by Signer) Submission {
	f.t.Helper()
	text := strings.Replace(fmt.Sprintf(manifest, version), "name: tracker", "name: "+name, 1)
	m, err := release.ParseManifest([]byte(text))
	f.must(err)
	r, err := release.Build(m, release.BuildInfo{Registry: f.id, Namespace: namespace, Module: wasmOf(version), Imports: []string{"read"}})
	f.must(err)
	return f.submission(r, by)
}

// What a person is told before a first install: a name that is nearly another's,
// and a publisher whom nobody knows; and before an update, another signer.
func TestNotices(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must(f.m.AddPublisher(t.Context(), f.keys, "acne", f.mallory.Certificate()))
	f.publishAs("acne", "tracker", "1.0.0", f.mallory)
	f.publishAs("acme", "wiki", "1.0.0", f.publisher)
	no := errors.New("no")
	review := func(name string) (codes []NoticeCode, text string) {
		t.Helper()
		ref, err := ParseRef(name)
		f.must(err)
		_, err = f.client.Install(t.Context(), ref, InstallOptions{Consent: func(_ context.Context, r Review) error {
			for _, n := range r.Notices {
				codes, text = append(codes, n.Code), text+n.Message+"\n"
			}
			return no
		}})
		if !errors.Is(err, no) {
			t.Fatalf("%s: %v", name, err)
		}
		return codes, text
	}
	codes, text := review("acne/tracker")
	if len(codes) != 2 || codes[0] != NoticeLooksLike || codes[1] != NoticeNewPublisher ||
		!strings.Contains(text, `looks like "acme/tracker", which is in the same registry`) || !strings.Contains(text, "since 2026-01-02") {
		t.Errorf("notices %v: %s", codes, text)
	}
	f.mustInstall(tracker)
	if _, text := review("acne/tracker"); !strings.Contains(text, `which is installed`) || strings.Contains(text, "same registry") {
		t.Errorf("notices: %s", text)
	}
	if codes, text := review("acme/wiki"); len(codes) != 0 {
		t.Errorf("a known publisher's other plugin: %s", text)
	}
	f.must(f.m.AddPublisher(t.Context(), f.keys, "acme", f.owner2.Certificate()))
	f.now = f.now.Add(1e9)
	f.must(f.m.Publish(t.Context(), f.keys, f.submission(f.releaseOf("1.1.0"), f.owner2)))
	if codes, text := review("acme/tracker"); len(codes) != 1 || codes[0] != NoticeOtherSigner || !strings.Contains(text, f.publisher.Fingerprint().Grouped()) {
		t.Errorf("another signer: %v %s", codes, text)
	}
	f.now = f.now.Add(newPublisher)
	f.must(f.m.Refresh(t.Context(), f.keys))
	if codes, text := review("acne/tracker"); len(codes) != 1 || codes[0] != NoticeLooksLike {
		t.Errorf("a publisher of long standing: %s", text)
	}
}
