package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// renewal is how long before a snapshot expires its registry ought to have a newer
// one. Maintainers have 14 days for it.
const renewal = 4 * 24 * time.Hour

// checkMarket looks whether the registries answer, and at every installed byte. It
// fetches nothing. found is what other checks said: a plugin that the daemon can't
// load isn't told about twice.
func checkMarket(ctx context.Context, dirs platform.Dirs, found []finding) []finding {
	own, _ := carried(carriedFiles) // checkTrust said what is wrong with it
	client, err := registry.New(registry.Config{Dir: dirs.Data(), Builtin: own})
	if err != nil {
		return nil // checkTrust said it
	}
	list, _ := client.Registries() // likewise
	var out []finding
	for _, r := range list {
		if r.Builtin {
			continue // it is asked nowhere
		}
		if r.Elsewhere {
			out = append(out, verdict("registry "+r.ID+" answers", "it has no address on this machine: drawbridge sync FILE --from DIR fetches it", nil))
			continue
		}
		f := verdict("registry "+r.ID+" answers", r.URL, client.Reach(ctx, r.ID))
		if !f.OK && f.Hint == "" {
			f.Hint = "git ls-remote " + platform.ShellQuote(r.URL)
		}
		out = append(out, f)
	}
	return append(out, checkInstalled(ctx, client, found)...)
}

// snapshotDetail says how long a snapshot is good, and whether somebody forgot to
// renew it.
func snapshotDetail(r registry.Registry, now time.Time) string {
	detail := fmt.Sprintf("snapshot %d, good until %s", r.Snapshot, r.Expires.Local().Format(time.DateTime))
	if r.Expires.Sub(now) < renewal {
		detail += ": nothing new can be installed after that unless its maintainer signs a newer one (drawbridge registry refresh)"
	}
	return detail
}

func checkInstalled(ctx context.Context, client *registry.Client, found []finding) []finding {
	list, err := client.Inspect(ctx)
	if err != nil {
		return []finding{verdict("lock file", "", err)}
	}
	var out []finding
	for _, p := range list {
		name := p.Entry.Plugin()
		told := slices.ContainsFunc(found, func(f finding) bool { return f.Check == "plugin "+name })
		for _, c := range p.Checks {
			if r := host.Mend(p.Entry, c); r != nil && !told {
				out = append(out, finding{Check: "installed " + name, Detail: c.What + ": " + r.Why, Hint: r.Hint, Code: abi.ErrUntrusted, Reason: r.Reason})
				break // one fault brings others with it; verify lists them
			}
		}
	}
	if len(out) == 0 && len(list) > 0 {
		out = append(out, verdict("installed", plural(len(list), "plugin")+", every byte as it was verified", nil))
	}
	return out
}
