package browser

import (
	"slices"

	"github.com/chromedp/cdproto/page"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

const (
	maxDialogs = 64      // kept between two calls of Dialogs
	maxMessage = 4 << 10 // bytes of a dialog's message
)

// answerDialog answers a dialog at once, since the page stands still until then:
// an alert is dismissed; everything else is cancelled, unless the call in hand
// accepts dialogs or the host itself is leaving the page.
func (p *Page) answerDialog(m *member, ev *page.EventJavascriptDialogOpening) {
	p.mu.Lock()
	accept := p.answer == abi.DialogAccept || ev.Type == page.DialogTypeAlert
	if ev.Type == page.DialogTypeBeforeunload {
		accept = accept || p.leave
	}
	if len(p.dialogs) < maxDialogs && !p.leave {
		p.dialogs = append(p.dialogs, abi.DialogInfo{
			Type: string(ev.Type), Message: clip(ev.Message, maxMessage),
			Accepted: accept && ev.Type != page.DialogTypeAlert,
		})
	}
	p.mu.Unlock()
	post(m.session, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: accept})
}

// Dialogs returns the JavaScript dialogs that were answered since it was last
// asked.
func (p *Page) Dialogs() []abi.DialogInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := slices.Clip(p.dialogs)
	p.dialogs = nil
	return d
}

// clip cuts s to at most n bytes, at a character's end.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
