package host

import (
	"context"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/guard"
)

// newGuard makes the guard of one call: the tool's reads, and its writes only
// once the gate said yes.
func (c *call) newGuard(writable bool) (*guard.Guard, error) {
	spec := c.tool.conn.spec(c.tool.reads)
	spec.Args = c.args
	if writable {
		spec.Writes = c.tool.writes
	}
	return guard.New(spec)
}

// spec is what every guard of a connector shares. The page that shows who is
// signed in is always readable.
func (conn *connector) spec(reads []abi.Request) guard.Spec {
	s := guard.Spec{
		Base: conn.site.base.Origin(), Origins: conn.site.origins, Resources: conn.site.resources,
		Login: conn.site.login, Reads: slices.Clone(reads),
	}
	if h := conn.def.Health; h != nil {
		s.Reads = append(s.Reads, conn.get(h.Path))
	}
	if l := conn.def.Login; l != nil {
		page := conn.get(l.Path)
		s.LoginPage = &page
		if l.Callback != nil {
			cb := conn.get(l.Callback.Path)
			cb.Method = l.Callback.Method
			s.Callback = &cb
		}
	}
	return s
}

// get is the read entry of one literal path.
func (conn *connector) get(path string) abi.Request {
	return abi.Request{
		Method: "GET", Origin: string(conn.site.base.Origin()),
		Path: strings.TrimSuffix(conn.site.base.Path(), "/") + path,
	}
}

// account visits the connector's health page and says who is signed in there;
// empty if the connector declares no account. It fails with auth_expired when
// nobody is.
func (h *Host) account(ctx context.Context, conn *connector, l *lease) (string, error) {
	if conn.def.Health == nil {
		return "", nil
	}
	u, err := conn.site.url(conn.def.Health.Path)
	if err != nil {
		return "", err
	}
	page := &grantedPage{site: conn.site, page: l.page, guard: l.guard, loginCmd: "drawbridge login " + conn.def.ID}
	if err := page.visit(ctx, u, "", ""); err != nil {
		return "", err
	}
	if conn.def.Account == nil {
		return "", nil
	}
	text, found, err := l.page.Text(ctx, nil, conn.def.Account.Selector, conn.def.Account.Attr)
	if err != nil {
		return "", err
	}
	if !found {
		return "", abi.Errorf(abi.ErrSelectorDrift, "account", "no element matches %q on %q", conn.def.Account.Selector, conn.def.Health.Path)
	}
	return text, nil
}

// namesArguments reports whether a list's meaning depends on a call's arguments.
func namesArguments(list []abi.Request) bool {
	names := func(p abi.Param) bool { return p.Arg != "" || strings.Contains(p.Name, "{") }
	return slices.ContainsFunc(list, func(r abi.Request) bool {
		return slices.ContainsFunc(r.Params, names) || slices.ContainsFunc(r.Query, names) || slices.ContainsFunc(r.Fields, names)
	})
}

// dialogOf says what to answer a confirm(): yes only if a signed write says so.
func dialogOf(writes []abi.Request) abi.Dialog {
	for _, w := range writes {
		if w.Dialog == abi.DialogAccept {
			return abi.DialogAccept
		}
	}
	return abi.DialogCancel
}

// What a module says of its error or of how far it is, in bytes. It is searched for
// secrets before it is cut, so that none is left in halves, and before that it is
// cut far from what is shown, since the search takes time.
const (
	maxGuestMessage  = 4 << 10
	maxGuestSearched = 64 << 10
	maxGuestProgress = 8 << 10 // of which clients are shown much less
)

// guestError is a connector's own error, which may only be one that a
// connector has to say.
func guestError(t *tool, e *abi.ErrorData) error {
	if e == nil {
		return abi.Errorf(abi.ErrInvalidResult, t.Name, "the connector returned neither a result nor an error")
	}
	if !slices.Contains(abi.Codes(), e.Code) {
		return abi.Errorf(abi.ErrInvalidResult, t.Name, "the connector returned an unknown error code %q", e.Code)
	}
	switch e.Code {
	case abi.ErrUntrusted, abi.ErrConfirmationRequired, abi.ErrConfirmationDenied, abi.ErrConsentPending, abi.ErrGuestTrap, abi.ErrInternal:
		return abi.Errorf(abi.ErrInvalidResult, t.Name, "the connector may not return %q", e.Code)
	case abi.ErrAuthExpired, abi.ErrForbidden, abi.ErrNotFound, abi.ErrSelectorDrift, abi.ErrTargetAmbiguous,
		abi.ErrCoveredBy, abi.ErrStaleRef, abi.ErrTimeout, abi.ErrDialogOpen, abi.ErrOriginDenied,
		abi.ErrCapabilityDenied, abi.ErrOutcomeUnknown, abi.ErrInvalidArgs, abi.ErrInvalidResult,
		abi.ErrLimitExceeded, abi.ErrBrowserGone, abi.ErrPageCrashed, abi.ErrPageClosed, abi.ErrUnsupportedAction:
	}
	err := &abi.Error{Code: e.Code, Op: t.Name, Msg: abi.Shorten(e.Message, maxGuestSearched)}
	if e.Code == abi.ErrAuthExpired {
		err.Hint = "drawbridge login " + t.conn.def.ID
	}
	return err
}
