package registry

import (
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// wider is a release that reads more than the fixture's versions do.
func (f *fixture) wider(version string) abi.Release {
	r := f.releaseOf(version)
	tools := slices.Clone(r.Connectors[0].Tools)
	tools[0].Reads = slices.Clone(tools[0].Reads)
	tools[0].Reads[0].Path = "/other"
	r.Connectors[0].Tools = tools
	return r
}

// A beta that widened is no measure for the stable version after it.
func TestGrowthIsThatOfTheChannelsUsers(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	ctx := t.Context()
	beta := p.submission(p.wider("1.1.0"), p.publisher)
	beta.Channel = Beta
	p.must(p.m.Publish(ctx, p.keys, beta))
	p.must(p.m.Publish(ctx, p.keys, p.submission(p.wider("1.2.0"), p.publisher)))
	p.must(p.m.Yank(ctx, p.keys, tracker, "1.2.0", "broken"))
	_, err := p.it.repo.run(ctx, nil, "-c", "protocol.file.allow=always", "fetch", "--quiet", p.origin, "+refs/*:refs/*")
	p.must(err)
	_, err = Propose(ctx, p.fork, "main", p.submission(p.wider("1.3.0"), p.publisher), p.clock)
	p.must(err)
	for channel, from := range map[Channel]string{"": "1.0.0", Stable: "1.0.0", Beta: "1.1.0"} {
		report := p.check("propose/acme/tracker/1.3.0", func(o *CheckOptions) { o.Channel = channel })
		wantAccepted(t, report)
		if len(report.Growth) != 1 {
			t.Fatalf("%q: growth %+v", channel, report.Growth)
		}
		g := report.Growth[0]
		told := slices.ContainsFunc(g.Added, func(l string) bool { return strings.Contains(l, "/other") })
		if g.From != from || told != (from == "1.0.0") {
			t.Errorf("%q: growth %+v", channel, g)
		}
	}
}

// A beta that is made a stable version is shown to those who let that happen.
func TestGrowthOfAPromotedVersion(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	ctx := t.Context()
	beta := p.submission(p.wider("1.1.0"), p.publisher)
	beta.Channel = Beta
	p.must(p.m.Publish(ctx, p.keys, beta))
	_, err := p.it.repo.run(ctx, nil, "-c", "protocol.file.allow=always", "fetch", "--quiet", p.origin, "+refs/*:refs/*")
	p.must(err)
	p.inFork(func(f *fixture) { f.reindex(func(x *Index) { x.Versions[1].Channel = Stable }) })
	report := p.check("main")
	wantAccepted(t, report)
	if len(report.Growth) != 1 || report.Growth[0].From != "1.0.0" || len(report.Growth[0].Added) == 0 {
		t.Errorf("growth %+v", report.Growth)
	}
}
