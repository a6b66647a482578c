package registry

import (
	"fmt"
	"slices"
	"testing"
)

// The versions between the newest and the installed one are offered one by one, the
// newest first, and none that nobody should have.
func TestLesser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("1.1.0")
	f.mustInstall(tracker)
	for _, v := range []string{"1.2.0", "1.3.0", "1.4.0", "1.5.0"} {
		f.publish(v)
	}
	f.publishBeta("1.6.0")
	f.publish("2.0.0")
	f.must(f.m.Yank(t.Context(), f.keys, tracker, "1.4.0", "broken"))
	f.revoke(Revocation{Artifacts: []string{hashOf(wasmOf("1.5.0"))}})
	u := f.update()
	if u.Review.Release.Version != "2.0.0" {
		t.Fatalf("the newest is %q", u.Review.Release.Version)
	}
	offered := func(upTo string) (seen []string, got Update) {
		got, err := f.client.Lesser(t.Context(), u, func(r Review) bool {
			seen = append(seen, r.Release.Version)
			return r.Release.Version == upTo
		})
		f.must(err)
		return seen, got
	}
	if seen, got := offered(""); !slices.Equal(seen, []string{"1.3.0", "1.2.0"}) || got.Newer() {
		t.Errorf("offered are %q, and nothing is taken: %+v", seen, got)
	}
	_, lesser := offered("1.2.0")
	if !lesser.Newer() || lesser.Review.Channel != "" {
		t.Fatalf("got %+v", lesser)
	}
	f.wantActive("1.1.0")
	if e, err := f.client.Apply(t.Context(), lesser, InstallOptions{}); err != nil || e.Version != "1.2.0" || e.Channel != "" {
		t.Errorf("applied: %+v, %v", e, err)
	}
	if seen, got := offered("1.3.0"); seen != nil || got.Newer() {
		t.Errorf("after another version was installed: %q, %+v", seen, got)
	}
	// Who follows beta is offered it; what is expired offers nothing.
	f.mustInstall(Ref{Namespace: "acme", Name: "tracker", Constraint: "=1.6.0"})
	f.publishBeta("2.1.0")
	f.publish("2.2.0")
	u = f.update()
	if seen, got := offered("2.0.0"); fmt.Sprint(seen) != "[2.1.0 2.0.0]" || got.Review.Channel != Beta {
		t.Errorf("on beta: %q, %+v", seen, got)
	}
	f.now = f.now.Add(snapshotLife)
	if seen, got := offered("2.0.0"); seen != nil || got.Newer() {
		t.Errorf("from an expired snapshot: %q, %+v", seen, got)
	}
	if got, err := f.client.Lesser(t.Context(), Update{Entry: u.Entry}, nil); err != nil || got.Newer() {
		t.Errorf("of nothing: %+v, %v", got, err)
	}
}
