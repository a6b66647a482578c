package guard

import (
	"errors"
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
)

// A seen is a request as every list looks at it: parsed once.
type seen struct {
	Observed
	kind     Kind
	url      origin.URL
	pathErr  error
	query    []origin.Pair
	queryErr error
	bodies   map[abi.Encoding]body
}

// read parses what holds for every list. It returns r with an error too, for the
// refusal's text.
func read(o Observed) (*seen, error) {
	r := &seen{Observed: o, kind: Kind(strings.ToLower(string(o.Kind))), bodies: map[abi.Encoding]body{}}
	r.Tokens = askOnce(o.Tokens)
	if r.kind == KindWebSocket {
		return r, errors.New("WebSockets are on no list")
	}
	for name := range o.Header {
		if isOverride(name) {
			return r, fmt.Errorf("the header %q may turn it into another method", shorten(name))
		}
	}
	if len(o.Body) > abi.MaxBody {
		return r, fmt.Errorf("the body has %d bytes, limit %d", len(o.Body), abi.MaxBody)
	}
	var err error
	if r.url, err = origin.ParseURL(o.URL); err != nil {
		return r, errors.New("it is no http or https URL that a list could name")
	}
	r.pathErr = origin.CheckPath(r.url.Path())
	r.query, r.queryErr = origin.ParseQuery(r.url.RawQuery())
	return r, nil
}

// askOnce remembers the page's answers: several entries may ask for one value,
// and each question is a trip to the page.
func askOnce(tokens func(string) bool) func(string) bool {
	if tokens == nil {
		return nil
	}
	known := map[string]bool{}
	return func(v string) bool {
		answer, ok := known[v]
		if !ok {
			answer = tokens(v)
			known[v] = answer
		}
		return answer
	}
}

// isOverride reports whether frameworks take a header for the request's method.
func isOverride(name string) bool {
	switch strings.ToLower(name) {
	case "x-http-method-override", "x-http-method", "x-method-override":
		return true
	}
	return false
}

// isPlainGet reports whether the request is a GET or HEAD without a body.
func (r *seen) isPlainGet() bool {
	return (r.Method == "GET" || r.Method == "HEAD") && len(r.Body) == 0 && r.BodyComplete
}
