package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
)

// A Kind is what a request is for, in the words of CDP's Network.ResourceType,
// in any case, with "subframe" for the document of a frame.
type Kind string

// The kinds that the lists tell apart. Every other kind is none of a page's
// resources.
const (
	KindDocument   Kind = "document"
	KindSubframe   Kind = "subframe"
	KindStylesheet Kind = "stylesheet"
	KindImage      Kind = "image"
	KindMedia      Kind = "media"
	KindFont       Kind = "font"
	KindScript     Kind = "script"
	KindTextTrack  Kind = "texttrack"
	KindXHR        Kind = "xhr"
	KindFetch      Kind = "fetch"
	KindManifest   Kind = "manifest"
	KindWebSocket  Kind = "websocket"
	KindPing       Kind = "ping"
	KindOther      Kind = "other"
)

// isDocument reports whether the request replaces a page or a frame.
func (k Kind) isDocument() bool { return k == KindDocument || k == KindSubframe }

// isResource reports whether a page loads the request's answer into itself.
func (k Kind) isResource() bool {
	switch k {
	case KindStylesheet, KindImage, KindMedia, KindFont, KindScript, KindTextTrack, KindXHR, KindFetch, KindManifest:
		return true
	case KindDocument, KindSubframe, KindWebSocket, KindPing, KindOther:
	}
	return false
}

// A Spec is what a guard enforces: signed definitions with the user's settings
// put in, and the arguments of the call. Entries of Reads and Writes whose Origin
// is empty mean Base.
type Spec struct {
	Base      origin.Origin
	Origins   []origin.Pattern // where Reads and Writes may lie; their paths are not looked at
	Resources []origin.Pattern
	Reads     []abi.Request
	Writes    []abi.Request   // empty until the gate said yes
	Login     []origin.Origin // identity providers
	LoginPage *abi.Request    // where the site sends whoever is signed out; any query
	Callback  *abi.Request    // where a provider sends the user back to; any query and body
	Args      json.RawMessage // an object; empty for none
}

// An Observed is a request that is about to go out.
type Observed struct {
	Method        string
	URL           string
	ContentType   string
	Body          []byte
	BodyComplete  bool // Body is all of it; false refuses entries of every encoding
	Kind          Kind
	Header        map[string]string       // the request's own headers, in any case; may be nil
	FromConnector bool                    // asked for by the connector, not by the page
	Redirect      bool                    // a hop of a redirect
	Page          string                  // URL of the document that the tab holds meanwhile
	Tokens        func(value string) bool // whether the page holds the value; nil: it holds none
}

// A List names the list that allowed a request.
type List string

// The lists.
const (
	ListReads     List = "reads"
	ListWrites    List = "writes"
	ListResources List = "resources"
	ListLogin     List = "login"
)

// A Verdict says why a request may go out. The zero Verdict allows nothing.
type Verdict struct {
	List   List
	Index  int        // in that list of the Spec
	Dialog abi.Dialog // of the entry, for reads and writes
}

// A Guard judges the requests of one page. It is safe for concurrent use.
type Guard struct {
	spec   Spec
	reads  []*entry
	writes []*entry
	login  []*entry // LoginPage and Callback: address only

	mu     sync.Mutex
	sent   []int // per write entry: how many went out
	sealed bool
}

// New makes a guard. It fails with untrusted if an entry is malformed, which a
// verified release never is, and with invalid_args if the arguments are no
// object or make two fields of an entry one.
func New(spec Spec) (*Guard, error) {
	args, err := parseArgs(spec.Args)
	if err != nil {
		return nil, err
	}
	g := &Guard{spec: spec, sent: make([]int, len(spec.Writes))}
	if g.reads, err = compileAll(ListReads, spec.Reads, spec.Base, args); err != nil {
		return nil, err
	}
	if g.writes, err = compileAll(ListWrites, spec.Writes, spec.Base, args); err != nil {
		return nil, err
	}
	for _, q := range []*abi.Request{spec.LoginPage, spec.Callback} {
		if q == nil {
			continue
		}
		e, err := compile("login", *q, spec.Base, args)
		if err != nil {
			return nil, err
		}
		g.login = append(g.login, e)
	}
	return g, nil
}

// Decide returns nil if the request may go out, and counts it if it is a write.
func (g *Guard) Decide(o Observed) error {
	_, err := g.Judge(o)
	return err
}

// Judge is Decide, and says which entry allowed the request.
func (g *Guard) Judge(o Observed) (Verdict, error) {
	return g.judge(o, true)
}

// CheckNavigation returns nil if the connector may navigate to u by reads or
// writes. It counts nothing and leaves tokens to Decide, which sees the request
// itself.
func (g *Guard) CheckNavigation(u origin.URL) error {
	_, err := g.judge(Observed{
		Method: "GET", URL: u.String(), BodyComplete: true, Kind: KindDocument, FromConnector: true,
		Tokens: func(string) bool { return true },
	}, false)
	return err
}

// CheckFetch returns nil if the connector may send a request by reads or writes:
// what its pages may load for themselves is not for it. It counts nothing and
// leaves tokens to Decide, which sees the request itself.
func (g *Guard) CheckFetch(o Observed) error {
	o.FromConnector, o.BodyComplete, o.Kind = true, true, KindFetch
	o.Tokens = func(string) bool { return true }
	_, err := g.judge(o, false)
	return err
}

// Seal refuses every later request, whatever the lists say.
func (g *Guard) Seal() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sealed = true
}

// Sent returns how many requests were let out as writes.
func (g *Guard) Sent() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, s := range g.sent {
		n += s
	}
	return n
}

// IsLogin reports whether u lies with an identity provider: a page that stops
// there has lost its login.
func (g *Guard) IsLogin(u origin.URL) bool {
	for _, o := range g.spec.Login {
		if o != "" && u.Origin() == o {
			return true
		}
	}
	return false
}

// judge looks a request up in the lists, in the order of the package comment.
func (g *Guard) judge(o Observed, count bool) (Verdict, error) {
	r, err := read(o)
	if err != nil {
		return Verdict{}, g.refuse(r, near{err: err})
	}
	var best near
	if g.isGranted(r) {
		v, ok := g.write(r, &best, count)
		if ok {
			return v, nil
		}
		if best.rank < rankUsedUp {
			if v, ok = g.read(r, &best); ok {
				return g.unsealed(r, v)
			}
		}
	} else {
		best.err = fmt.Errorf("the origin %q is not granted", r.url.Origin())
	}
	if v, ok := g.resource(r); ok && best.rank < rankUsedUp {
		return g.unsealed(r, v)
	}
	if v, ok := g.signIn(r); ok {
		return g.unsealed(r, v)
	}
	return Verdict{}, g.refuse(r, best)
}

// unsealed returns v unless the call has ended.
func (g *Guard) unsealed(r *seen, v Verdict) (Verdict, error) {
	g.mu.Lock()
	sealed := g.sealed
	g.mu.Unlock()
	if sealed {
		return Verdict{}, g.refuse(r, near{err: errSealed()})
	}
	return v, nil
}

func errSealed() error { return errors.New("the call has ended") }

// isGranted reports whether the origin may be read and written at all.
func (g *Guard) isGranted(r *seen) bool {
	for _, p := range g.spec.Origins {
		if p.MatchOrigin(r.url) {
			return true
		}
	}
	return false
}

// write finds a write entry that has not been used up, and counts the request
// before anybody can send it. Where every entry that matches is used up, no
// other list is asked.
func (g *Guard) write(r *seen, best *near, count bool) (Verdict, bool) {
	for i, e := range g.writes {
		if err := e.match(r, best); err != nil {
			continue
		}
		if err := g.take(i, e.max, count); err != nil {
			*best = near{entry: e, rank: rankUsedUp, err: err}
			continue
		}
		return Verdict{List: ListWrites, Index: i, Dialog: e.dialog}, true
	}
	return Verdict{}, false
}

// take uses up one of a write entry's requests.
func (g *Guard) take(i, most int, count bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sealed {
		return errSealed()
	}
	if g.sent[i] >= most {
		return fmt.Errorf("%d of %d such requests went out already", g.sent[i], most)
	}
	if count {
		g.sent[i]++
	}
	return nil
}

func (g *Guard) read(r *seen, best *near) (Verdict, bool) {
	for i, e := range g.reads {
		if e.match(r, best) == nil {
			return Verdict{List: ListReads, Index: i, Dialog: e.dialog}, true
		}
	}
	return Verdict{}, false
}

// resource allows what a page loads into itself. The path is held to the rules of
// templates, because /static/..%2fdelete is under /static/ for a browser only.
func (g *Guard) resource(r *seen) (Verdict, bool) {
	if !r.isPlainGet() || !r.kind.isResource() || r.FromConnector || r.pathErr != nil {
		return Verdict{}, false
	}
	for i, p := range g.spec.Resources {
		if p.Match(r.url) {
			return Verdict{List: ListResources, Index: i}, true
		}
	}
	return Verdict{}, false
}

// signIn allows the way to an identity provider and back. The connector waits
// meanwhile, so nothing of it is the connector's.
func (g *Guard) signIn(r *seen) (Verdict, bool) {
	if r.FromConnector {
		return Verdict{}, false
	}
	// Only a redirect leads there, and only it or the provider's own page leads
	// back: a link, a form or a script of the application's page is none of it,
	// or a read tool could write by clicking one.
	page, err := origin.ParseURL(r.Page)
	there := err == nil && g.IsLogin(page)
	if g.IsLogin(r.url) && r.isPlainGet() && (there && r.kind.isResource() || r.kind.isDocument() && (there || r.Redirect)) {
		return Verdict{List: ListLogin}, true
	}
	if !r.kind.isDocument() || !g.isGranted(r) || !there && !r.Redirect {
		return Verdict{}, false
	}
	for _, e := range g.login {
		if e.matchAddress(r) == nil && (r.isPlainGet() || r.Method == "POST") {
			return Verdict{List: ListLogin}, true
		}
	}
	return Verdict{}, false
}
