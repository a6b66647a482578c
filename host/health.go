package host

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/health"
)

// ConnectorHealth says how one connector is.
type ConnectorHealth struct {
	Connector string         `json:"connector"`
	Title     string         `json:"title"`
	Plugin    string         `json:"release"`          // namespace/name@version
	State     health.State   `json:"state"`            // unknown, ok, auth_expired or failing
	Since     time.Time      `json:"since,omitzero"`   // when it came into that state
	Checked   time.Time      `json:"checked,omitzero"` // when its page was last looked at for this
	Error     *abi.ErrorData `json:"error,omitempty"`  // why, with the command to run next
}

// Health says how every connector is, sorted by id. It looks at nothing.
func (h *Host) Health(context.Context) []ConnectorHealth {
	cat := h.catalog.Load()
	list := []ConnectorHealth{}
	for _, s := range h.health.List() {
		if conn, ok := cat.connectors[s.ID]; ok {
			list = append(list, healthOf(conn, s))
		}
	}
	return list
}

func healthOf(conn *connector, s health.Status) ConnectorHealth {
	c := ConnectorHealth{
		Connector: s.ID, Title: conn.def.Title, Plugin: conn.plugin.ref, State: s.State, Since: s.Since, Checked: s.Checked,
	}
	if s.Err != nil {
		c.Error = s.Err.Data()
		c.Error.Hint = s.Err.Hint
	}
	return c
}

// CheckHealth looks at a connector's page now, or at every connector's if id is
// empty, and says how they are. The error is that of the one connector; among
// all, each carries its own.
func (h *Host) CheckHealth(ctx context.Context, id string) ([]ConnectorHealth, error) {
	found := map[string]error{}
	for _, c := range h.Health(ctx) {
		if id == "" || id == c.Connector {
			found[c.Connector] = h.health.Check(ctx, c.Connector)
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case id != "" && len(found) == 0:
		return nil, abi.Errorf(abi.ErrNotFound, "check", "no connector %q is installed", id).WithHint("drawbridge list")
	case id != "" && found[id] != nil:
		return nil, found[id]
	}
	list := []ConnectorHealth{}
	for _, c := range h.Health(ctx) {
		err, ok := found[c.Connector]
		if !ok {
			continue
		}
		// The browser's own failure is not the connector's state, and told all the
		// same. Where there is no page to look at, nothing failed.
		if err != nil && c.Error == nil && !errors.Is(err, health.ErrNoPage) {
			c.Error = Safe(err).Data()
		}
		list = append(list, c)
	}
	return list, nil
}

// watchHealth checks the connectors that are used until the host is closed.
//
//nolint:contextcheck // it watches for all calls
func (h *Host) watchHealth() {
	ctx, leave := h.untilEnd(context.Background())
	defer leave()
	h.health.Run(ctx)
}

// healthConnectors are the connectors of a catalog as their health is kept.
func (c *catalog) healthConnectors() []health.Connector {
	var list []health.Connector
	for id, conn := range c.connectors {
		rel := conn.plugin.release
		list = append(list, health.Connector{
			ID: id, Group: rel.Namespace + "/" + rel.Name, Release: conn.plugin.ref,
			Address: conn.site.address(), HasPage: conn.def.Health != nil,
		})
	}
	return list
}

// checkHealth visits a connector's health page in a tab of its own, which can do
// nothing else, and says whether somebody is signed in there.
func (h *Host) checkHealth(ctx context.Context, id string) *abi.Error {
	if !h.enter() {
		return abi.Errorf(abi.ErrBrowserGone, "check", "the host is closed")
	}
	defer h.calls.Done()
	ctx, leave := h.untilEnd(ctx)
	defer leave()
	conn, ok := h.catalog.Load().connectors[id]
	if !ok {
		return abi.Errorf(abi.ErrInternal, "check", "connector %q was removed", id)
	}
	_, err := h.whoami(ctx, conn)
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), context.Canceled):
		return abi.Errorf(abi.ErrBrowserGone, "check", "the host is closed: %w", err)
	case errors.Is(err, abi.ErrNotFound): // to a caller it would say that what it asks for does not exist
		return abi.Errorf(abi.ErrSelectorDrift, "check", "the page that shows that %q works is gone: %w", id, err)
	}
	return Safe(err)
}

// healthChanged writes down that a connector's state is another one.
func (h *Host) healthChanged(was, is health.Status) {
	attrs := []slog.Attr{
		slog.String("connector", is.ID), slog.String("state", string(is.State)), slog.String("was", string(was.State)),
	}
	level := slog.LevelInfo
	if is.Err != nil {
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("code", string(is.Err.Code)), slog.String("error", is.Err.Error()), slog.String("hint", is.Err.Hint))
	}
	h.opts.Logger.LogAttrs(context.Background(), level, "connector health", attrs...)
}
