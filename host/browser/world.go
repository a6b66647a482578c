package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// worldName begins the isolated worlds' names.
const worldName = "drawbridge"

// worldCSP takes the place of the page's own policy in the isolated world: its
// fetch reaches the page's origin, whatever the page forbids itself, and
// nothing else.
const worldCSP = "default-src 'none'; connect-src 'self'"

//go:embed js/dom.js
var domJS string

//go:embed js/extract.js
var extractJS string

//go:embed js/wait.js
var waitJS string

//go:embed js/act.js
var actJS string

//go:embed js/fetch.js
var fetchJS string

//go:embed js/snapshot.js
var snapshotJS string

//go:embed js/main.js
var mainJS string

//go:embed js/worker.js
var workerJS string

//go:embed js/page.js
var pageJS string

//go:embed js/guest.js
var guestJS string

// helperJS is what every document's isolated world starts with.
var helperJS = "(() => {\n" + domJS + extractJS + waitJS + actJS + fetchJS + snapshotJS + mainJS + "})()"

// makeWorld asks for the helper's world in the document that has just come into
// the tab. Each document gets a world of a new name: a world that the browser
// knows already keeps the policy, and with it the origin, of an earlier document.
func (p *Page) makeWorld() page.CreateIsolatedWorldParams {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.worlds++
	p.wanted = worldName + "-" + strconv.Itoa(p.worlds)
	return page.CreateIsolatedWorldParams{FrameID: p.frame, WorldName: p.wanted, ContentSecurityPolicy: worldCSP}
}

// contextCreated puts the helper into its world. Commands of one session take
// effect in their order, so that it is there for whoever uses the world next.
func (p *Page) contextCreated(ev cdpruntime.EventExecutionContextCreated) {
	p.mu.Lock()
	wanted := p.wanted
	p.mu.Unlock()
	if ev.Context == nil || ev.Context.Name != wanted {
		return
	}
	// Looking into a frame opens the world there as well.
	var aux struct {
		FrameID cdp.FrameID `json:"frameId"`
	}
	if err := json.Unmarshal(ev.Context.AuxData, &aux); err != nil || aux.FrameID != p.frame {
		return
	}
	post(p.s, cdpruntime.Evaluate, cdpruntime.EvaluateParams{Expression: helperJS, UniqueContextID: ev.Context.UniqueID})
	p.setWorld(ev.Context.UniqueID)
}

func (p *Page) setWorld(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.world = id
	p.signal()
}

func (p *Page) frameNavigated(ev page.EventFrameNavigated) {
	if ev.Frame == nil || ev.Frame.ID != p.frame {
		return
	}
	post(p.s, page.CreateIsolatedWorld, p.makeWorld())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.world = ""
	p.loader, p.crashed, p.away = ev.Frame.LoaderID, false, false
	p.url = ev.Frame.URL
	p.signal()
}

// leaving notes that the page, or a click in it, has asked for another document.
func (p *Page) leaving(frame cdp.FrameID) {
	if frame == p.frame {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.away = true
		p.signal()
	}
}

func (p *Page) frameRequestedNavigation(ev page.EventFrameRequestedNavigation) {
	if ev.Disposition == page.ClientNavigationDispositionCurrentTab {
		p.leaving(ev.FrameID)
	}
}

func (p *Page) frameStartedNavigating(ev page.EventFrameStartedNavigating) {
	if ev.NavigationType == page.FrameStartedNavigatingNavigationTypeSameDocument ||
		ev.NavigationType == page.FrameStartedNavigatingNavigationTypeHistorySameDocument {
		return
	}
	p.leaving(ev.FrameID)
}

// stopped notes that whatever was asked for is there or will not come.
func (p *Page) stopped(frame cdp.FrameID) {
	if frame == p.frame {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.away = false
		p.signal()
	}
}

// learn adds to what the document is known to hold for its own requests.
func (p *Page) learn(tokens []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tokens == nil {
		p.tokens = map[string]struct{}{}
	}
	for _, t := range tokens {
		p.tokens[t] = struct{}{}
	}
}

// call is the function that every message runs; the helper does the rest.
const call = "function(name, arg) { return drawbridge(name, arg); }"

// invoke runs a function of the helper, in one message, and decodes what it
// answers into res. It fails with errNavigated if the document was left
// meanwhile, whereupon a reader may ask the next one.
func (p *Page) invoke(ctx context.Context, name string, arg, res any) error {
	var world string
	if err := p.await(ctx, func() bool { world = p.world; return world != "" && !p.crashed }); err != nil {
		return err
	}
	params, err := arguments(world, name, arg)
	if err != nil {
		return err
	}
	r, err := do(ctx, p.s, callHelper, params)
	switch {
	case navigated(err):
		p.mu.Lock()
		if p.world == world {
			p.world = "" // its successor is on the way
		}
		p.mu.Unlock()
		return errNavigated
	case err != nil:
		return err
	case r.ExceptionDetails != nil:
		return fmt.Errorf("the helper threw: %s", r.ExceptionDetails.Text)
	}
	return decodeAnswer(r.Result.Value, res)
}

// callHelper is cdpruntime.CallFunctionOn for a function that returns a string:
// what a helper answers is long, and so it is read once less.
var callHelper = cdp.Command[cdpruntime.CallFunctionOnParams, helperResult]{Method: cdpruntime.CommandCallFunctionOn}

type helperResult struct {
	Result struct {
		Value string `json:"value"`
	} `json:"result"`
	ExceptionDetails *cdpruntime.ExceptionDetails `json:"exceptionDetails"`
}

func arguments(world, name string, arg any) (cdpruntime.CallFunctionOnParams, error) {
	yes := true
	n, err := json.Marshal(name)
	if err != nil {
		return cdpruntime.CallFunctionOnParams{}, err
	}
	a, err := json.Marshal(arg)
	if err != nil {
		return cdpruntime.CallFunctionOnParams{}, fmt.Errorf("encoding the argument of %s: %w", name, err)
	}
	return cdpruntime.CallFunctionOnParams{
		FunctionDeclaration: call,
		Arguments:           []*cdpruntime.CallArgument{{Value: n}, {Value: a}},
		ReturnByValue:       &yes,
		AwaitPromise:        &yes,
		UniqueContextID:     world,
	}, nil
}

// decodeAnswer reads {"ok":...} or {"error":{code,message}} out of a JSON string,
// each in one pass: an answer can be long. Keys match exactly.
func decodeAnswer(text string, res any) error {
	a := struct {
		OK    any            `json:"ok"`
		Error *abi.ErrorData `json:"error"`
	}{OK: res}
	if err := jsonv2.Unmarshal([]byte(text), &a, chromedp.DefaultUnmarshalOptions); err != nil {
		return fmt.Errorf("decoding the helper's answer: %w", err)
	}
	if a.Error != nil {
		return fault(a.Error)
	}
	return nil
}

// errNetwork is a request that got no answer.
var errNetwork = errors.New("no answer from the server")

func fault(d *abi.ErrorData) error {
	if d.Code == "network" {
		return fmt.Errorf("%w: %s", errNetwork, d.Message)
	}
	if d.Code == abi.ErrInternal {
		return errors.New(d.Message)
	}
	return &abi.Error{Code: d.Code, Msg: d.Message}
}

// ask is invoke for readers: if the document is left meanwhile, it asks the
// next one. Only for what changes nothing.
func (p *Page) ask(ctx context.Context, name string, arg, res any) error {
	for {
		if err := p.invoke(ctx, name, arg, res); !errors.Is(err, errNavigated) {
			return err
		}
	}
}
