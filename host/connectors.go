package host

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
	"github.com/drawbridge-mcp/drawbridge/host/health"
)

// A ConnectorInfo is one loaded connector as a client sees it.
type ConnectorInfo struct {
	ID          string   `json:"id"`
	Title       string   `json:"title"`
	Description string   `json:"description,omitempty"`
	Plugin      string   `json:"plugin"`  // namespace/name@version
	Address     string   `json:"address"` // where it works
	Tools       []string `json:"tools"`   // listed names
	Health      Health   `json:"health"`
}

// A PluginProblem is a plugin that is installed and not loaded.
type PluginProblem struct {
	Plugin  string     `json:"plugin"` // namespace/name
	Code    abi.Code   `json:"code"`
	Reason  abi.Reason `json:"reason,omitempty"`
	Message string     `json:"message"`
	Hint    string     `json:"hint,omitempty"`
}

// Health is how a connector was when a call or a check last told. Nothing is opened
// to find out.
type Health struct {
	Status string    `json:"status"` // unknown, ok, or the error code that says what is wrong
	At     time.Time `json:"at,omitzero"`
	Hint   string    `json:"hint,omitempty"` // the command that mends it
}

// Connectors lists the loaded connectors, by id, and the plugins that are not
// loaded, by name.
func (h *Host) Connectors(_ context.Context, _ Principal) ([]ConnectorInfo, []PluginProblem) {
	cat := h.catalog.Load()
	known := map[string]Health{}
	for _, s := range h.health.List() {
		known[s.ID] = clientHealth(s)
	}
	list := make([]ConnectorInfo, 0, len(cat.connectors))
	for _, id := range slices.Sorted(maps.Keys(cat.connectors)) {
		c := cat.connectors[id]
		info := ConnectorInfo{
			ID: id, Title: c.def.Title, Description: c.def.Description, Plugin: c.plugin.ref,
			Address: c.site.address(), Tools: []string{}, Health: known[id],
		}
		for _, t := range cat.list {
			if strings.HasPrefix(t.Dotted, id+".") {
				info.Tools = append(info.Tools, t.Name)
			}
		}
		list = append(list, info)
	}
	problems := make([]PluginProblem, 0, len(cat.problems))
	for _, name := range slices.Sorted(maps.Keys(cat.problems)) {
		e := cat.problems[name]
		problems = append(problems, PluginProblem{Plugin: name, Code: e.Code, Reason: e.Reason, Message: e.Error(), Hint: e.Hint})
	}
	return list, problems
}

// clientHealth is how a connector is, as a client sees it.
func clientHealth(s health.Status) Health {
	got := Health{Status: string(s.State), At: s.Since}
	if s.Checked.After(got.At) {
		got.At = s.Checked
	}
	if s.Err != nil {
		got.Status, got.Hint = string(s.Err.Code), s.Err.Hint
	}
	return got
}

// An AuditCall is one row of a principal's own audit log.
type AuditCall = audit.CallRecord

// Audit returns p's own calls, the newest first: those before the call with that id,
// if one is given. It fails with not_found if p has made no such call.
func (h *Host) Audit(ctx context.Context, p Principal, before string, limit int) ([]AuditCall, error) {
	ctx, cancel := context.WithTimeout(ctx, journalTimeout)
	defer cancel()
	return h.opts.Audit.Calls(ctx, p.ID, before, limit)
}
