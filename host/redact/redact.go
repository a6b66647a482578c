package redact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Mark is what stands where a secret stood.
const Mark = "[redacted]"

// A Redactor removes secrets. It serves any number of goroutines; the zero
// value is not usable.
type Redactor struct {
	rules    []rule
	telltale *sieve
	mu       sync.Mutex // held while known is replaced
	known    atomic.Pointer[[]needle]
}

// New returns a Redactor that knows these secrets; more can be added later.
func New(secrets ...string) *Redactor {
	rules := newRules()
	r := &Redactor{rules: rules, telltale: telltales(rules)}
	r.known.Store(new([]needle))
	r.Add(secrets...)
	return r
}

// Add makes r know more secrets. One shorter than [MinSecret] bytes is left
// out: its characters stand everywhere.
func (r *Redactor) Add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := slices.Clone(*r.known.Load())
	for _, s := range secrets {
		if len(s) < MinSecret || slices.ContainsFunc(known, func(n needle) bool { return n.of == s }) {
			continue
		}
		known = append(known, needlesOf(s)...)
	}
	r.known.Store(&known)
}

// String returns s without secrets.
func (r *Redactor) String(s string) string {
	return cut(s, r.spans(s, true))
}

// known and shaped secrets, and if names is set values under telling names.
func (r *Redactor) spans(s string, names bool) []span {
	found := findKnown(s, *r.known.Load())
	for _, rule := range r.rules {
		if names || !rule.byName {
			found = append(found, rule.apply(s)...)
		}
	}
	return found
}

// A span is a part of a text to be removed.
type span struct{ from, to int }

// cut replaces each run of overlapping spans by one mark.
func cut(s string, spans []span) string {
	if len(spans) == 0 {
		return s
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	at := 0
	for i := 0; i < len(spans); {
		from, to := spans[i].from, spans[i].to
		for i++; i < len(spans) && spans[i].from <= to; i++ {
			to = max(to, spans[i].to)
		}
		b.WriteString(s[at:from])
		b.WriteString(Mark)
		at = to
	}
	b.WriteString(s[at:])
	return b.String()
}

// JSON returns a JSON text without secrets: in its strings, in its numbers, and
// whatever stands under a key that tells of a secret. Key order and white
// space are not kept. It fails if raw is not JSON.
func (r *Redactor) JSON(raw json.RawMessage) (json.RawMessage, error) {
	return r.json(raw, true)
}

// Result is [Redactor.JSON] for a tool's result, which is JSON, where a key such
// as session is a matter of the connector's schema: keys are not judged, strings
// are. What holds nothing to remove comes back as it is.
func (r *Redactor) Result(raw json.RawMessage) (json.RawMessage, error) {
	if len(*r.known.Load()) == 0 && !r.telltale.holds(raw) {
		return raw, nil
	}
	return r.json(raw, false)
}

// telltales is a sieve that lets a JSON text through only if no string of it
// can hold what String would remove: nothing is escaped that a rule looks for,
// and what every rule needs stands nowhere. Many results are of that kind, and
// taking one apart costs as much as reading it from the page did.
func telltales(rules []rule) *sieve {
	parts := []string{
		"=", "%", "<", // a name and its value, in a URL, a form or markup
		`\u`, `\/`, `\"`, // an escape that may hide a part
	}
	for _, rule := range rules {
		parts = append(parts, rule.needs...)
	}
	return newSieve(parts, credentialHeaders())
}

func (r *Redactor) json(raw json.RawMessage, keys bool) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("redacting JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("redacting JSON: more than one value")
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r.value(v, keys)); err != nil {
		return nil, fmt.Errorf("redacting JSON: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

func (r *Redactor) value(v any, keys bool) any {
	switch v := v.(type) {
	case string:
		return r.String(v)
	case json.Number:
		if s := v.String(); r.String(s) != s {
			return Mark
		}
	case []any:
		for i := range v {
			v[i] = r.value(v[i], keys)
		}
	case map[string]any:
		return r.object(v, keys)
	}
	return v
}

func (r *Redactor) object(m map[string]any, keys bool) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if _, flag := v.(bool); keys && Sensitive(k) && v != nil && !flag {
			v = Mark
		}
		out[r.String(k)] = r.value(v, keys)
	}
	return out
}

// Attr is a ReplaceAttr function for slog: it redacts every string, error and
// other value of a log record, and what stands under a telling name.
func (r *Redactor) Attr(_ []string, a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(r.String(v.String()))
	case slog.KindAny:
		a.Value = slog.StringValue(r.String(fmt.Sprint(v.Any())))
		if _, ok := v.Any().(*slog.Source); ok {
			a.Value = v
		}
		if _, ok := v.Any().(slog.Level); ok {
			a.Value = v
		}
	case slog.KindInt64, slog.KindUint64, slog.KindFloat64:
		if s := v.String(); r.String(s) != s {
			a.Value = slog.StringValue(Mark)
		}
	case slog.KindBool, slog.KindDuration, slog.KindTime, slog.KindGroup, slog.KindLogValuer:
		return a
	}
	if Sensitive(a.Key) {
		a.Value = slog.StringValue(Mark)
	}
	return a
}
