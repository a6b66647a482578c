package release

import (
	"fmt"
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// tools compares the tools of one connector.
func (c *comparer) tools(was, is *abi.Connector) {
	old := map[string]*abi.Tool{}
	for i := range was.Tools {
		old[was.Tools[i].Name] = &was.Tools[i]
	}
	for i := range is.Tools {
		t := &is.Tools[i]
		who := is.ID + "_" + t.Name
		if before, ok := old[t.Name]; ok {
			c.tool(who, before, t)
		} else {
			for _, l := range ExplainTool(t, c.settings) {
				c.add(Wider, who, "new tool: %s", l)
			}
		}
		delete(old, t.Name)
	}
	for i := range was.Tools {
		if name := was.Tools[i].Name; old[name] != nil {
			c.add(Narrower, is.ID+"_"+name, "is gone")
		}
	}
}

// tool compares two definitions of one tool.
func (c *comparer) tool(who string, was, is *abi.Tool) {
	switch {
	case was.IsDestructive() && !is.IsDestructive():
		c.add(Wider, who, "no longer asks you before each call")
	case !was.IsDestructive() && is.IsDestructive():
		c.add(Narrower, who, "now asks you before each call")
	}
	c.set(who, "", words(was.Capabilities), words(is.Capabilities), func(s string) string { return capabilityWords(abi.Capability(s)) })
	c.requests(who, "may read by", was.Reads, is.Reads)
	c.requests(who, "may WRITE", was.Writes, is.Writes)
	c.text(who, "title", was.Title, is.Title)
	c.text(who, "description", was.Description, is.Description)
	c.schema(who, "arguments", was.Input, is.Input)
	c.schema(who, "result", was.Output, is.Output)
	if rest, before := others(*is), others(*was); !same(before, rest) {
		c.add(Told, who, "its hints, limits or completions: %s", changed(before, rest))
	}
}

// others is a tool without all that is compared by itself: what is left is equal
// or asks.
func others(t abi.Tool) abi.Tool {
	t.Title, t.Description, t.Input, t.Output, t.Destructive = "", "", nil, nil, nil
	t.Capabilities, t.Reads, t.Writes = nil, nil, nil
	return t
}

func (c *comparer) schema(who, what string, was, is any) {
	if !same(was, is) {
		c.add(Told, who, "the schema of its %s: %s", what, changed(was, is))
	}
}

// requests compares what a tool may cause on the wire. Each entry takes the place
// of one that was there: an equal one, or else one that may be sent more often.
func (c *comparer) requests(who, lead string, was, is []abi.Request) {
	left, fresh := slices.Clone(was), []abi.Request{}
	take := func(r *abi.Request, by func(old, r *abi.Request) bool) bool {
		i := slices.IndexFunc(left, func(old abi.Request) bool { return by(&old, r) })
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
		return i >= 0
	}
	for i := range is {
		if !take(&is[i], func(old, r *abi.Request) bool { return same(old, r) }) {
			fresh = append(fresh, is[i])
		}
	}
	for i := range fresh {
		r := &fresh[i]
		if take(r, permits) {
			c.add(Narrower, who, "less often: %s", c.wire(lead, r))
		} else {
			c.add(Wider, who, "new: %s", c.wire(lead, r))
		}
	}
	for i := range left {
		c.add(Narrower, who, "no longer: %s", c.wire(lead, &left[i]))
	}
}

// permits reports whether old lets everything through that r does.
func permits(old, r *abi.Request) bool {
	a, b := *old, *r
	if max(b.Max, 1) > max(a.Max, 1) {
		return false
	}
	a.Max, b.Max = 0, 0
	return same(a, b)
}

func (c *comparer) wire(lead string, r *abi.Request) string {
	if lead == "may WRITE" {
		times := "once"
		if r.Max > 1 {
			times = fmt.Sprintf("up to %d times", r.Max)
		}
		lead += " " + times + " in a call by"
	}
	return lead + " " + c.request(r)
}
