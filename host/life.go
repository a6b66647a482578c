package host

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A life is how long one loaded version of a plugin is used: until another one
// took its place and the last call that began on it has ended. A revocation ends
// the calls too.
type life struct {
	last  func()          // called once, when nobody uses it any more
	ended context.Context //nolint:containedctx // the version's own: a revocation ends it
	end   context.CancelCauseFunc

	mu      sync.Mutex
	users   int
	retired bool
}

func newLife(last func()) *life {
	l := &life{last: last}
	l.ended, l.end = context.WithCancelCause(context.Background())
	return l
}

// enter takes part, unless another version has taken this one's place.
func (l *life) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.retired {
		return false
	}
	l.users++
	return true
}

func (l *life) leave() {
	l.mu.Lock()
	l.users--
	over := l.retired && l.users == 0
	l.mu.Unlock()
	if over {
		l.last()
	}
}

// retire lets nobody in any more. With a reason, it ends those who are in.
func (l *life) retire(revoked *abi.Error) {
	if revoked != nil {
		l.end(revoked)
	}
	l.mu.Lock()
	over := !l.retired && l.users == 0
	l.retired = true
	l.mu.Unlock()
	if over {
		l.last()
	}
}

// during returns ctx that ends when the version is revoked.
func (l *life) during(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(l.ended, func() { cancel(context.Cause(l.ended)) })
	return ctx, func() {
		unhook()
		cancel(nil)
	}
}

// explain makes the error of a call that a revocation ended say so.
func (l *life) explain(err error) error {
	if err != nil && l.ended.Err() != nil {
		return context.Cause(l.ended)
	}
	return err
}

// distrust is why an installed plugin is not run though its tools may be called:
// it is revoked, damaged, or nothing vouches for it any more. Else nil.
func (c *catalog) distrust(plugin string) *abi.Error {
	if e := c.problems[plugin]; e != nil && e.Code == abi.ErrUntrusted {
		return e
	}
	return nil
}

// refused is why a tool must not run, by its listed or its dotted name, or nil. The
// tools of a plugin whose release is damaged are known by the connector's name
// alone, which most plugins have too.
func (c *catalog) refused(tool string) *abi.Error {
	if e := c.revoked[tool]; e != nil {
		return e
	}
	for _, plugin := range slices.Sorted(maps.Keys(c.unread)) {
		_, name, _ := strings.Cut(plugin, "/")
		name = strings.ReplaceAll(name, "-", "_")
		if strings.HasPrefix(tool, name+"_") || strings.HasPrefix(tool, name+".") {
			return c.unread[plugin]
		}
	}
	return nil
}

// revocation is why an installed plugin must not run any more, or nil.
func (c *catalog) revocation(plugin string) *abi.Error {
	e := c.problems[plugin]
	if e == nil || e.Reason != abi.ReasonArtifactRevoked && e.Reason != abi.ReasonKeyRevoked {
		return nil
	}
	return e
}

// Revoked reports whether a tool, by its listed or its dotted name, is one of a
// plugin that is installed and must not run: it is revoked, or damaged. A call of it says why.
func (h *Host) Revoked(tool string) bool {
	cat := h.catalog.Load()
	_, runs := cat.tools[tool]
	return !runs && cat.refused(tool) != nil
}

// noteRefused lets calls of the tools of a plugin that isn't trusted say so.
func (c *catalog) noteRefused(h *Host, plugin string) {
	e := c.distrust(plugin)
	if e == nil {
		return
	}
	rel, err := h.opts.Registry.Release(plugin)
	if err != nil {
		c.unread[plugin] = e
		return
	}
	for _, con := range rel.Connectors {
		for i := range con.Tools {
			def := Define(con.ID, &con.Tools[i])
			c.revoked[def.Name], c.revoked[def.Dotted] = e, e
		}
	}
}

// same reports whether next is the same connector of the same version, with the
// same settings: its tabs may stay.
func (conn *connector) same(next *connector) bool {
	return next != nil && conn.plugin.ref == next.plugin.ref && conn.plugin.sha256 == next.plugin.sha256 && maps.Equal(conn.settings, next.settings)
}

// present refuses a call whose plugin was removed while a person read. One that
// was updated goes on with the version that was shown.
func (c *call) present(context.Context) error {
	id := c.tool.conn.def.ID
	if _, ok := c.host.catalog.Load().connectors[id]; !ok && c.tool.Destructive {
		return abi.Errorf(abi.ErrNotFound, "call", "connector %q was removed before the call was approved: nothing was sent", id).WithHint("drawbridge list")
	}
	return nil
}
