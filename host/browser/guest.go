package browser

import (
	"context"
	"errors"
	"log/slog"
	"mime"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/preload"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// This file is what a tab in the user's own browser needs beyond the guard: what
// Launch does by command line and preferences, done for one tab.

// The size of a tab that is in no window.
const (
	guestWidth  = 1280
	guestHeight = 900
)

// armGuest adds what a tab in the user's browser needs.
func (p *Page) armGuest(b *batch) {
	add(b, p.s, preload.Enable, cdp.Empty{})
	if !p.hidden {
		return
	}
	add(b, p.s, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: guestWidth, Height: guestHeight, DeviceScaleFactor: 1,
	})
}

// rouse makes the tab's document take input. It does so once it is asked for the
// element that the step is about, which takes some frames' time.
//
// BUG(chromium): a browser with windows drops input for a document that was never
// drawn, and in a tab that is in no window none ever is. Asking for a picture lets
// input through, though no picture comes.
func (p *Page) rouse() {
	p.mu.Lock()
	asleep := p.hidden && p.roused != p.loader
	p.roused = p.loader
	p.mu.Unlock()
	if asleep {
		post(p.s, page.CaptureScreenshot, page.CaptureScreenshotParams{Clip: &page.Viewport{Width: 1, Height: 1, Scale: 1}})
	}
}

// related says which targets a tab brings along. Workers that tabs share may be
// the user's: they are left alone, and no page of ours can reach them.
func (b *Browser) related() target.Filter {
	if !b.joined() {
		return nil
	}
	return target.Filter{
		{Type: "service_worker", Exclude: true},
		{Type: "shared_worker", Exclude: true},
		{Type: "browser", Exclude: true},
		{Type: "tab", Exclude: true},
		{},
	}
}

// notInWorkers is what a dedicated worker does not get, as a list in JavaScript.
func (b *Browser) notInWorkers() string {
	if b.joined() {
		return `["WebTransport", "BroadcastChannel"]`
	}
	return `["WebTransport"]`
}

// A preloading says whether the browser sends requests ahead of its user.
type preloading int

const (
	preloadUnknown preloading = iota
	preloadOff
	preloadOn
)

// tryPrefetch asks the browser for a prefetch that fails either way.
func (p *Page) tryPrefetch(ctx context.Context) error {
	const rules = `{"prefetch":[{"source":"list","urls":["https://127.0.0.1:9/"],"eagerness":"immediate"}]}`
	r, err := do(ctx, p.s, cdpruntime.Evaluate, cdpruntime.EvaluateParams{
		Expression: `{const s = document.createElement("script"); s.type = "speculationrules"; s.text = ` + "`" + rules + "`" + `; document.head.append(s)}`,
	})
	if err == nil && r.ExceptionDetails != nil {
		err = errors.New("asking for a prefetch: " + r.ExceptionDetails.Text)
	}
	return err
}

// prefetched hears of a prefetch that a page asked for. If it was not refused by
// the user's own setting, the setting was changed under us: no tab of ours stays.
func (p *Page) prefetched(ev preload.EventPrefetchStatusUpdated) {
	state := preloadOn
	if ev.PrefetchStatus == preload.PrefetchStatusPrefetchNotEligiblePreloadingDisabled {
		state = preloadOff
	}
	p.mu.Lock()
	p.preloading = state
	p.signal()
	p.mu.Unlock()
	if state == preloadOn {
		p.b.log.Warn("the browser loads pages ahead of its user", slog.String("status", string(ev.PrefetchStatus)))
		p.b.detach()
	}
}

// arrived lets a document in. In the user's own browser a download is kept out,
// which would end up in the user's own folder: by what it is, or because the
// browser fetches it for no frame, as it does for a link that says download.
func (f flow) arrived() {
	download := f.ev.NetworkID == "" || f.ev.ResponseStatusCode/100 == 2 && isDownload(f.ev.ResponseHeaders)
	if p := f.m.owner; p != nil {
		if p.b.joined() && download {
			f.refuse()
			return
		}
		if f.m.role == roleMain && f.kind() == KindDocument {
			p.documentArrives(f.ev.ResponseStatusCode)
		}
	}
	post(f.m.session, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: f.ev.RequestID})
}

// isDownload reports whether a browser would store a document, and not show it.
func isDownload(headers []*fetch.HeaderEntry) bool {
	kind := ""
	for _, h := range headers {
		switch strings.ToLower(h.Name) {
		case "content-disposition":
			if d, _, err := mime.ParseMediaType(h.Value); err != nil || d != "inline" {
				return true
			}
		case "content-type":
			kind, _, _ = mime.ParseMediaType(h.Value)
		}
	}
	switch kind {
	case "", "application/xhtml+xml", "application/xml", "application/json", "application/javascript", "application/ecmascript", "application/x-javascript":
		return false
	}
	top, _, _ := strings.Cut(kind, "/")
	return top != "text" && top != "image" && top != "video" && top != "audio" && !strings.HasSuffix(kind, "+xml") && !strings.HasSuffix(kind, "+json")
}
