package host

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
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

// Health is how a connector was when it was last used. Nothing is opened to find out.
type Health struct {
	Status string    `json:"status"` // unknown, ok, or the error code that says what is wrong
	At     time.Time `json:"at,omitzero"`
	Hint   string    `json:"hint,omitempty"` // the command that mends it
}

// Connectors lists the loaded connectors, by id, and the plugins that are not
// loaded, by name.
func (h *Host) Connectors(_ context.Context, _ Principal) ([]ConnectorInfo, []PluginProblem) {
	cat := h.catalog.Load()
	list := make([]ConnectorInfo, 0, len(cat.connectors))
	for _, id := range slices.Sorted(maps.Keys(cat.connectors)) {
		c := cat.connectors[id]
		info := ConnectorInfo{
			ID: id, Title: c.def.Title, Description: c.def.Description, Plugin: c.plugin.ref,
			Address: c.site.address(), Tools: []string{}, Health: h.health.of(id),
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

// healths remember how each connector's last call went. The zero value is ready.
type healths struct {
	mu   sync.Mutex
	last map[string]Health // by connector id
}

func (h *healths) of(id string) Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	if got, ok := h.last[id]; ok {
		return got
	}
	return Health{Status: "unknown"}
}

// note keeps what a call says about its connector. Most errors are about the call:
// they change nothing.
func (h *healths) note(id string, e *abi.Error, at time.Time) {
	got := Health{Status: "ok", At: at.UTC()}
	if e != nil {
		if !slices.Contains([]abi.Code{
			abi.ErrAuthExpired, abi.ErrSelectorDrift, abi.ErrTimeout, abi.ErrGuestTrap, abi.ErrInvalidResult, abi.ErrBrowserGone, abi.ErrPageCrashed,
		}, e.Code) {
			return
		}
		got.Status, got.Hint = string(e.Code), e.Hint
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		h.last = map[string]Health{}
	}
	h.last[id] = got
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
