package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// didYouMean asks about the one of some names that is nearly the name which nobody
// knows, to be put behind an error's words. It is empty if none is near.
func didYouMean(name string, of []string) string {
	best, least := "", 3
	for _, n := range of {
		d := distance(sameParts(name, n), sameParts(n, name))
		if d < least && 2*d < len(sameParts(name, n)) {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// nearTo is didYouMean for all that registries have, or one of them.
func (c *Client) nearTo(ctx context.Context, only, name string) string {
	quiet := &Client{cfg: c.cfg}
	quiet.cfg.Events = Events{}
	near, _ := quiet.look(ctx, only, func(Ref) bool { return true }) // it only helps
	return didYouMean(name, near.found)
}

// sameParts is what of a name counts beside another one: all of it, or what follows
// the last part that the other leaves out.
func sameParts(name, beside string) string {
	name = name[strings.LastIndex(name, ":")+1:]
	if !strings.Contains(beside, "/") {
		name = name[strings.LastIndex(name, "/")+1:]
	}
	const longest = 200 // a name has a limit of its own; this one is as typed
	return name[:min(len(name), longest)]
}

// pluginsOf lists the plugins of which there is an index among some files.
func pluginsOf[T any](files map[string]T) (names []string) {
	for path := range files {
		if parts := strings.Split(path, "/"); len(parts) == 4 && parts[0] == "connectors" && parts[3] == "index.json" {
			names = append(names, parts[1]+"/"+parts[2])
		}
	}
	slices.Sort(names)
	return names
}
