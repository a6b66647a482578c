package guard

import (
	"errors"
	"fmt"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
)

// An entry is one abi.Request, ready to be compared.
type entry struct {
	name     string // such as reads[2], for messages
	method   string
	origin   origin.Origin
	path     origin.Template
	params   []bound
	query    []bound
	encoding abi.Encoding
	fields   []bound
	max      int
	dialog   abi.Dialog
}

// How far a request came with an entry, for the choice of what a refusal says.
const (
	rankNone   = iota
	rankPath   // origin, method and path match, an argument in the path or the query does not
	rankQuery  // and the query; the body does not
	rankUsedUp // everything matches a write that went out already
)

// A near is the entry that a refused request came nearest to.
type near struct {
	entry *entry
	rank  int
	err   error
}

func compileAll(list List, requests []abi.Request, base origin.Origin, args map[string]arg) ([]*entry, error) {
	entries := make([]*entry, 0, len(requests))
	for i, q := range requests {
		e, err := compile(fmt.Sprintf("%s[%d]", list, i), q, base, args)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// compile prepares one entry.
func compile(name string, q abi.Request, base origin.Origin, args map[string]arg) (*entry, error) {
	e := &entry{name: name, method: q.Method, origin: base, encoding: q.Encoding, max: max(q.Max, 1), dialog: q.Dialog}
	if err := e.checkHead(q); err != nil {
		return nil, malformed(name, err)
	}
	var err error
	if e.path, err = origin.ParseTemplate(q.Path, q.Params); err != nil {
		return nil, malformed(name, err)
	}
	for _, set := range []struct {
		from   []abi.Param
		to     *[]bound
		inPath bool
	}{{q.Params, &e.params, true}, {q.Query, &e.query, false}, {q.Fields, &e.fields, false}} {
		if *set.to, err = bindAll(name, set.from, args, set.inPath); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// checkHead checks and completes what is not a parameter.
func (e *entry) checkHead(q abi.Request) error {
	if !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, q.Method) {
		return fmt.Errorf("method %q", q.Method)
	}
	if q.Origin != "" {
		o, err := origin.ParseOrigin(q.Origin)
		if err != nil {
			return err
		}
		e.origin = o
	}
	switch e.encoding {
	case "":
		e.encoding = abi.EncodingNone
	case abi.EncodingNone, abi.EncodingURLEncoded, abi.EncodingMultipart, abi.EncodingJSON:
	default:
		return fmt.Errorf("encoding %q", q.Encoding)
	}
	if e.encoding == abi.EncodingNone && len(q.Fields) > 0 {
		return errors.New("fields without an encoding")
	}
	return nil
}

func malformed(name string, err error) *abi.Error {
	e := abi.Errorf(abi.ErrUntrusted, "guard", "%s is malformed: %w", name, err)
	e.Reason = abi.ReasonMalformed
	return e
}

// match returns nil if the request is one that the entry describes; otherwise it
// notes in best how near it came.
func (e *entry) match(r *seen, best *near) error {
	values, err := e.matchPath(r)
	if err != nil {
		return err
	}
	if err := e.matchParams(values, r); err != nil {
		best.offer(e, rankPath, err)
		return err
	}
	if err := e.matchQuery(r); err != nil {
		best.offer(e, rankPath, err)
		return err
	}
	if err := e.matchBody(r); err != nil {
		best.offer(e, rankQuery, err)
		return err
	}
	return nil
}

func (n *near) offer(e *entry, rank int, err error) {
	if rank > n.rank {
		*n = near{entry: e, rank: rank, err: err}
	}
}

// matchAddress compares method, origin and path with its parameters.
func (e *entry) matchAddress(r *seen) error {
	values, err := e.matchPath(r)
	if err != nil {
		return err
	}
	return e.matchParams(values, r)
}

func (e *entry) matchPath(r *seen) (map[string]string, error) {
	if r.Method != e.method || e.origin == "" || r.url.Origin() != e.origin {
		return nil, errors.New("another method or origin")
	}
	values, ok := e.path.Match(r.url.Path())
	if !ok {
		return nil, errors.New("another path")
	}
	return values, nil
}

func (e *entry) matchParams(values map[string]string, r *seen) error {
	for _, b := range e.params {
		if err := b.accept(values[b.name], r.Tokens); err != nil {
			return fmt.Errorf("the path's %q %w", b.name, err)
		}
	}
	return nil
}

func (e *entry) matchQuery(r *seen) error {
	if r.queryErr != nil {
		return r.queryErr
	}
	return matchSet("query parameter", e.query, r.query, r.Tokens)
}

func (e *entry) matchBody(r *seen) error {
	if !r.BodyComplete {
		return errors.New("the body could not be seen whole")
	}
	b := r.body(e.encoding)
	if b.err != nil {
		return b.err
	}
	return matchSet("field", e.fields, b.pairs, r.Tokens)
}

// matchSet compares a closed set: everything sent is listed and accepted, and
// everything listed is sent unless optional. Names in pairs are unique.
func matchSet(what string, set []bound, pairs []origin.Pair, tokens func(string) bool) error {
	sent := make(map[string]bool, len(pairs))
	for _, p := range pairs {
		i := slices.IndexFunc(set, func(b bound) bool { return b.named(p.Name) })
		if i < 0 {
			return fmt.Errorf("the %s %q is not listed", what, shorten(p.Name))
		}
		if err := set[i].accept(p.Value, tokens); err != nil {
			return fmt.Errorf("the %s %q %w", what, p.Name, err)
		}
		sent[p.Name] = true
	}
	for _, b := range set {
		if !sent[b.name] && !b.param.Optional {
			return fmt.Errorf("the %s %q is missing", what, b.name)
		}
	}
	return nil
}
