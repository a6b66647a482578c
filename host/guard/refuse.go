package guard

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
)

// refuse makes the error for a request that is on no list.
func (g *Guard) refuse(r *seen, n near) *abi.Error {
	why := "it is on none of the lists " + g.lists(r)
	switch {
	case n.entry != nil:
		why = fmt.Sprintf("%s: %v", n.entry.name, n.err)
	case n.err != nil:
		why = n.err.Error()
	case r.pathErr != nil:
		why = r.pathErr.Error()
	}
	e := abi.Errorf(abi.ErrOriginDenied, "guard", "%s %q is refused: %s", shorten(r.Method), maskURL(r), why)
	if hint := g.propose(r); hint != "" && n.rank < rankUsedUp {
		return e.WithHint("%s", hint)
	}
	return e
}

// lists names the lists that a request of this kind could have been on.
func (g *Guard) lists(r *seen) string {
	names := []string{string(ListReads)}
	if len(g.writes) > 0 {
		names = append(names, string(ListWrites))
	}
	if r.kind.isResource() && !r.FromConnector {
		names = append(names, string(ListResources))
	}
	return strings.Join(names, ", ")
}

// propose writes the entry that would allow the request, for a developer to
// narrow. It is "" where no entry can.
func (g *Guard) propose(r *seen) string {
	if r.url.Host() == "" || r.pathErr != nil || r.queryErr != nil || r.kind == KindWebSocket {
		return ""
	}
	if r.kind.isResource() && r.isPlainGet() && !r.FromConnector {
		dir := r.url.Path()[:strings.LastIndexByte(r.url.Path(), '/')+1]
		return fmt.Sprintf("if the page needs it, add to resources: %q", string(r.url.Origin())+dir+"*")
	}
	if !g.isGranted(r) {
		return fmt.Sprintf("if the connector needs it, add to origins: %q", string(r.url.Origin())+"/*")
	}
	q, ok := proposal(r)
	if !ok {
		return ""
	}
	if o := r.url.Origin(); o != g.spec.Base {
		q.Origin = string(o)
	}
	list := ListReads
	if r.Method != "GET" && r.Method != "HEAD" {
		list = ListWrites
	}
	text, err := json.Marshal(q)
	if err != nil || len(text) > 4096 {
		return ""
	}
	return fmt.Sprintf("if the tool needs it, add to %s: %s", list, text)
}

// proposal describes the request as an entry; false if none can.
func proposal(r *seen) (abi.Request, bool) {
	q := abi.Request{Method: r.Method, Query: proposeParams(r.query)}
	for i, segment := range strings.Split(r.url.Path()[1:], "/") {
		if origin.ValidValue(abi.ValueInt, 0, segment) {
			name := fmt.Sprintf("n%d", i)
			q.Params = append(q.Params, abi.Param{Name: name, Any: abi.ValueInt})
			segment = "{" + name + "}"
		}
		q.Path += "/" + segment
	}
	if strings.Contains(q.Path, "%") {
		return abi.Request{}, false // templates are written decoded; rare enough to leave to a person
	}
	if len(r.Body) == 0 {
		return q, true
	}
	for _, enc := range []abi.Encoding{abi.EncodingURLEncoded, abi.EncodingMultipart, abi.EncodingJSON} {
		if b := r.body(enc); b.err == nil {
			q.Encoding, q.Fields = enc, proposeParams(b.pairs)
			return q, true
		}
	}
	return abi.Request{}, false
}

func proposeParams(pairs []origin.Pair) []abi.Param {
	var params []abi.Param
	for _, p := range pairs {
		param := abi.Param{Name: p.Name}
		switch {
		case p.Value == "":
			param.Empty = true
		case isSecret(p):
			param.Token = true
		case origin.ValidValue(abi.ValueInt, 0, p.Value):
			param.Any = abi.ValueInt
		case origin.ValidValue(abi.ValueSlug, 0, p.Value):
			param.Any = abi.ValueSlug
		default:
			param.Any = abi.ValueText
		}
		params = append(params, param)
	}
	return params
}

// maskURL writes the URL without fragment and with the values masked that look
// like secrets. A query that can't be parsed is masked whole.
func maskURL(r *seen) string {
	if r.url.Host() == "" {
		scheme, _, _ := strings.Cut(r.URL, ":")
		return shorten(scheme) + ":…"
	}
	var b strings.Builder
	b.WriteString(string(r.url.Origin()) + r.url.Path())
	if r.queryErr != nil {
		return shorten(b.String()) + "?…"
	}
	for i, p := range r.query {
		b.WriteByte("?&"[min(i, 1)])
		value := p.Value
		if isSecret(p) {
			value = "…"
		}
		b.WriteString(p.Name + "=" + value)
	}
	return shorten(b.String())
}

// isSecret reports whether a parameter looks like a token by its name or value.
func isSecret(p origin.Pair) bool {
	name := strings.ToLower(p.Name)
	switch name {
	case "key", "code", "state", "sid", "sig":
		return true
	}
	for _, word := range []string{"token", "csrf", "xsrf", "sectok", "secret", "session", "auth", "passw", "pwd", "nonce"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return len(p.Value) >= 20 && !strings.ContainsAny(p.Value, " .,/:")
}

// shorten bounds what an error repeats of a hostile value.
func shorten(s string) string { return abi.Shorten(s, 300) }
