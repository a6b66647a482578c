package host

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A CompleteRequest asks for the values of one argument of a prompt or a tool.
type CompleteRequest struct {
	Principal Principal
	Client    string // what it calls itself; display only
	Prompt    string // listed name; or
	Tool      string // listed or dotted name
	Arg       string
	Value     string // what was typed so far
}

// A Completion is the values that fit what was typed.
type Completion struct {
	Values []string // at most MaxCompletions, the best first
	Total  int      // how many fit
}

// MaxCompletions is how many values one answer holds.
const MaxCompletions = 100

const (
	valuesFresh   = 30 * time.Second // values are used again
	valuesFailed  = 10 * time.Second // a tool that failed is not called again
	valuesTimeout = 10 * time.Second // of the call that finds them
	maxValues     = 1000             // distinct values that are kept
	maxValueSets  = 256              // of all clients and tools
)

// Complete returns the values that an argument can take, as far as its definition
// says. An argument that says nothing, or whose tool fails, has none; one that does
// not exist is not_found.
func (h *Host) Complete(ctx context.Context, r CompleteRequest) (Completion, error) {
	conn, fixed, from, err := h.source(r)
	if err != nil || from == nil {
		return fitting(fixed, r.Value), err
	}
	all, err := h.values.get(ctx, valuesKey{r.Principal.ID, conn.plugin.ref, conn.def.ID + "." + from.Tool, from.Column}, h.now, func() ([]string, bool) {
		// The call goes on when this request is cancelled: the next key that is
		// pressed wants the same values. It is a read, and ends with the host.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), valuesTimeout)
		defer cancel()
		return h.find(ctx, CallRequest{Principal: r.Principal, Client: r.Client, Tool: conn.def.ID + "." + from.Tool}, from.Column)
	})
	return fitting(all, r.Value), err
}

// find calls a tool for the values of a column. It runs in a goroutine of its own: a
// panic costs these values, and not the host.
func (h *Host) find(ctx context.Context, r CallRequest, column string) (values []string, ok bool) {
	defer func() {
		if v := recover(); v != nil {
			h.opts.Logger.ErrorContext(ctx, "panic while finding values", slog.String("tool", r.Tool), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			values, ok = nil, false
		}
	}()
	res := h.Call(ctx, r)
	return columnValues(res.Structured, column), res.Err == nil
}

// source finds where an argument's values come from: a closed list, or a column.
func (h *Host) source(r CompleteRequest) (conn *connector, fixed []string, from *abi.Column, err error) {
	cat := h.catalog.Load()
	if r.Prompt != "" {
		if p, ok := cat.prompts[r.Prompt]; ok {
			if i := slices.IndexFunc(p.Arguments, func(a abi.PromptArgument) bool { return a.Name == r.Arg }); i >= 0 {
				return p.conn, p.Arguments[i].OneOf, p.Arguments[i].From, nil
			}
		}
		return nil, nil, nil, abi.Errorf(abi.ErrNotFound, "", "no prompt %.128q has an argument %.64q", r.Prompt, r.Arg)
	}
	t, ok := cat.tools[r.Tool]
	if !ok {
		return nil, nil, nil, abi.Errorf(abi.ErrNotFound, "", "no tool %.128q is installed", r.Tool)
	}
	for i := range t.def.Values {
		if t.def.Values[i].Arg == r.Arg {
			return t.conn, nil, &t.def.Values[i].From, nil
		}
	}
	return t.conn, enumOf(t.def.Input, r.Arg), nil, nil
}

// enumOf lists the plain values that a schema allows for a property.
func enumOf(schema json.RawMessage, name string) []string {
	var s struct {
		Properties map[string]struct {
			Enum []json.RawMessage `json:"enum"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil { // it was admitted: it is JSON
		return nil
	}
	var out []string
	for _, raw := range s.Properties[name].Enum {
		out = appendValue(out, raw)
	}
	return out
}

// columnValues lists the distinct values in one field of a list of objects, in the
// order of the list.
func columnValues(result json.RawMessage, column string) []string {
	list, field, _ := strings.Cut(column, ".")
	var tables map[string]json.RawMessage
	var rows []map[string]json.RawMessage
	if json.Unmarshal(result, &tables) != nil || json.Unmarshal(tables[list], &rows) != nil {
		return nil
	}
	var out []string
	seen := map[string]bool{}
	for _, row := range rows {
		before := len(out)
		if out = appendValue(out, row[field]); len(out) > before && seen[out[before]] {
			out = out[:before]
		} else if len(out) > before {
			seen[out[before]] = true
		}
		if len(out) == maxValues {
			break
		}
	}
	return out
}

// appendValue adds a string, number or boolean as text. Values come from pages and
// stand in a client's menus: one that is long or holds what can't be seen is no
// value that somebody chooses.
func appendValue(out []string, raw json.RawMessage) []string {
	raw = bytes.TrimSpace(raw)
	var s string
	switch {
	case len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || raw[0] == 'n':
		return out
	case raw[0] == '"':
		if json.Unmarshal(raw, &s) != nil {
			return out
		}
	default:
		s = string(raw)
	}
	if s == "" || len(s) > abi.MaxPromptValue || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return out
	}
	return append(out, s)
}

// fitting returns the values that begin with what was typed, and after them those
// that contain it, letters of either case alike.
func fitting(all []string, typed string) Completion {
	typed = strings.ToLower(typed)
	var begin, contain []string
	for _, v := range all {
		switch i := strings.Index(strings.ToLower(v), typed); {
		case i == 0:
			begin = append(begin, v)
		case i > 0:
			contain = append(contain, v)
		}
	}
	out := append(begin, contain...)
	return Completion{Values: out[:min(len(out), MaxCompletions)], Total: len(out)}
}

// valuesKey names what one client was told by one tool of one release.
type valuesKey struct{ principal, release, tool, column string }

// A valueSet is values as they were found, or are being found.
type valueSet struct {
	done   chan struct{} // closed when the rest is there
	values []string
	until  time.Time
}

// valueCache keeps values for a short time, so that typing costs one call, and a
// tool is called for them once at a time and seldom. The zero value is ready.
type valueCache struct {
	mu   sync.Mutex
	sets map[valuesKey]*valueSet
}

// get returns the values of a key, from find if they are not fresh. It fails when
// ctx ends first, or with limit_exceeded when too much is being found.
func (c *valueCache) get(ctx context.Context, key valuesKey, now func() time.Time, find func() (values []string, ok bool)) ([]string, error) {
	set, mine, err := c.enter(key, now())
	if err != nil {
		return nil, err
	}
	if mine {
		go func() {
			values, ok := find()
			c.mu.Lock()
			defer c.mu.Unlock()
			set.values, set.until = values, now().Add(valuesFresh)
			if !ok {
				set.values, set.until = nil, now().Add(valuesFailed)
			}
			close(set.done)
		}()
	}
	select {
	case <-set.done:
		return set.values, nil // never changed afterwards
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// enter returns the set of a key; mine says that the caller is to find it.
func (c *valueCache) enter(key valuesKey, now time.Time) (set *valueSet, mine bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, s := range c.sets {
		if s.found() && !now.Before(s.until) {
			delete(c.sets, k)
		}
	}
	if s, ok := c.sets[key]; ok {
		return s, false, nil
	}
	if len(c.sets) >= maxValueSets {
		return nil, false, abi.Errorf(abi.ErrLimitExceeded, "", "values of %d arguments are kept already: wait a moment", len(c.sets))
	}
	if c.sets == nil {
		c.sets = map[valuesKey]*valueSet{}
	}
	set = &valueSet{done: make(chan struct{})}
	c.sets[key] = set
	return set, true, nil
}

func (s *valueSet) found() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}
