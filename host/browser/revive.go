package browser

import (
	"context"
	"errors"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
)

// patience is how long a document may take to answer before it is left by force.
const patience = 2 * time.Second

// revive makes sure that the tab can leave its document. A renderer whose script
// never ends can't take the next document of its site: the script is ended, and
// if that does not help the renderer.
func (p *Page) revive(ctx context.Context) error {
	for _, force := range p.forces() {
		short, cancel := context.WithTimeout(ctx, patience)
		err := p.invoke(short, "ping", nil, nil)
		cancel()
		if err == nil || errors.Is(err, errNavigated) || errors.Is(err, errCrashed) {
			return nil
		}
		if ctx.Err() != nil || p.gone() != nil {
			return err
		}
		force()
	}
	// The renderer ends for certain, but on a loaded machine not at once; until it
	// has, it would take the next navigation with it.
	short, cancel := context.WithTimeout(ctx, 5*patience)
	defer cancel()
	err := p.await(short, func() bool { return p.crashed })
	if ctx.Err() == nil && p.gone() == nil {
		return nil // the navigation says what is wrong
	}
	return err
}

// forces are the ways to make a document let go, in their order. A renderer of
// the user's browser is not ended: it may hold tabs of the user's as well.
func (p *Page) forces() []func() {
	if p.b.joined() {
		return []func(){p.endScripts, p.abandon}
	}
	return []func(){p.endScripts, p.endRenderer}
}

// abandon gives the tab up; the browser closes it whatever its scripts do.
func (p *Page) abandon() {
	p.b.closePopup(p.target)
	p.end(errClosed)
}

func (p *Page) endScripts() {
	post(p.s, page.StopLoading, cdp.Empty{})
	post(p.s, cdpruntime.TerminateExecution, cdp.Empty{})
}

func (p *Page) endRenderer() { post(p.s, page.Crash, cdp.Empty{}) }
