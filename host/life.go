package host

import (
	"context"
	"maps"
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

// revocation is why an installed plugin must not run any more, or nil.
func (c *catalog) revocation(plugin string) *abi.Error {
	e := c.problems[plugin]
	if e == nil || e.Reason != abi.ReasonArtifactRevoked && e.Reason != abi.ReasonKeyRevoked {
		return nil
	}
	return e
}

// Revoked reports whether a tool, by its listed or its dotted name, is one of a
// plugin that is installed and must not run any more. A call of it says why.
func (h *Host) Revoked(tool string) bool {
	cat := h.catalog.Load()
	_, runs := cat.tools[tool]
	return !runs && cat.revoked[tool] != nil
}

// noteRevoked lets calls of a revoked plugin's tools say so.
func (c *catalog) noteRevoked(h *Host, plugin string) {
	e := c.revocation(plugin)
	if e == nil {
		return
	}
	rel, err := h.opts.Registry.Release(plugin)
	if err != nil {
		return // its tools are unknown, then
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
