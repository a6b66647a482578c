package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
)

// A FormLogin is what a person typed for a login without a visible browser. It
// is typed into the page, never stored, and never reaches a guest or a model.
type FormLogin struct {
	Username string
	Password string
}

// SignedIn says who is signed in at a site.
type SignedIn struct {
	Account string // empty if the connector declares none
	Already bool   // somebody was signed in before, and nothing was typed
}

// LoginWait is how long a person has for signing in, in the visible browser.
const LoginWait = 10 * time.Minute

// Login signs in at a connector's site. With form it types the fields that the
// connector's manifest names, in a background tab; without, it shows the
// browser at the login page and waits until the site says that somebody is
// signed in, then goes back to the background with the session kept.
func (h *Host) Login(ctx context.Context, id string, form *FormLogin) (SignedIn, error) {
	h.signin.Lock()
	defer h.signin.Unlock()
	conn, ok := h.catalog.Load().connectors[id]
	if !ok {
		return SignedIn{}, abi.Errorf(abi.ErrNotFound, "login", "no connector %q is installed", id).WithHint("drawbridge list")
	}
	if conn.def.Login == nil {
		return SignedIn{}, abi.Errorf(abi.ErrUnsupportedAction, "login", "connector %q declares no login page", id)
	}
	var in SignedIn
	var err error
	if form != nil {
		in, err = h.formLogin(ctx, conn, form)
	} else {
		in.Account, err = h.headedLogin(ctx, conn)
	}
	if err == nil {
		h.health.LoggedIn(id)
	}
	return in, err
}

// formWait is how long a site has to say that somebody is signed in after its
// form was sent. It keeps silent about a wrong password in many ways.
const formWait = 15 * time.Second

func (h *Host) formLogin(ctx context.Context, conn *connector, form *FormLogin) (SignedIn, error) {
	f := conn.def.Login.Form
	if f == nil {
		return SignedIn{}, abi.Errorf(abi.ErrUnsupportedAction, "login", "connector %q declares no login form", conn.def.ID).WithHint("drawbridge login %s", conn.def.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, abi.MaxCallTimeout)
	defer cancel()
	h.redact.Add(form.Password)
	page, err := h.openLogin(ctx, conn)
	if err != nil {
		return SignedIn{}, err
	}
	defer func() { _ = page.Close() }()
	first := f.Password
	if f.Next != "" {
		first = f.Username
	}
	v, err := h.visitLogin(ctx, conn, page, first)
	if err != nil || v.Class == browser.SignedIn {
		account, err := h.finishLogin(ctx, conn, err)
		return SignedIn{Account: account, Already: err == nil}, err
	}
	if err := h.sendForm(ctx, page, f, form, conn.site.pages.SignedIn); err != nil {
		return SignedIn{}, err
	}
	account, err := h.whoami(ctx, conn)
	return SignedIn{Account: account}, err
}

// sendForm types into a login form and waits for the site to take it.
func (h *Host) sendForm(ctx context.Context, page *browser.Page, f *abi.LoginForm, form *FormLogin, signedIn []abi.Condition) error {
	name := abi.Step{Op: abi.OpFill, Selector: f.Username, Value: form.Username}
	rest := []abi.Step{
		{Op: abi.OpFill, Selector: f.Password, Value: form.Password},
		{Op: abi.OpClick, Selector: f.Submit},
	}
	if f.Next == "" {
		rest = append([]abi.Step{name}, rest...)
	} else if err := h.sendName(ctx, page, f, name); err != nil {
		return err
	}
	if kind, _, err := page.Text(ctx, nil, f.Password, "type"); err != nil || !strings.EqualFold(kind, "password") {
		return errors.Join(abi.Errorf(abi.ErrCapabilityDenied, "login", "%q is no password field: no password was typed", f.Password), err)
	}
	if err := actAll(ctx, page, rest); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, formWait)
	defer cancel()
	_, err := page.Settle(wait, abi.Pages{SignedIn: signedIn}, "")
	if err == nil {
		return nil
	}
	if still, lerr := page.Exists(ctx, nil, f.Password); lerr == nil && still {
		return abi.Errorf(abi.ErrAuthExpired, "login", "the login form is still there: is the name or the password wrong?")
	}
	return abi.Errorf(abi.ErrAuthExpired, "login", "the site does not say that anybody is signed in: %w", err)
}

// sendName fills the first of two pages and waits for the one with the password.
func (h *Host) sendName(ctx context.Context, page *browser.Page, f *abi.LoginForm, name abi.Step) error {
	if err := actAll(ctx, page, []abi.Step{name, {Op: abi.OpClick, Selector: f.Next}}); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, formWait)
	defer cancel()
	if _, err := page.Settle(wait, abi.Pages{SignedOut: []abi.Condition{{Selector: f.Password}}}, ""); err != nil {
		return abi.Errorf(abi.ErrAuthExpired, "login", "the page that asks for the password does not come: %w", err)
	}
	return nil
}

func actAll(ctx context.Context, page *browser.Page, steps []abi.Step) error {
	for _, s := range steps {
		if err := page.Act(ctx, s, abi.DialogCancel); err != nil {
			return err
		}
	}
	return nil
}

// openLogin opens a tab that may go to the connector's and its identity
// providers' origins and nowhere else. No guest runs while it is open.
func (h *Host) openLogin(ctx context.Context, conn *connector) (*browser.Page, error) {
	b, err := h.tabs.browsers.get(ctx)
	if err != nil {
		return nil, err
	}
	return b.Open(ctx, browser.Policy{Check: conn.loginPolicy()})
}

func (conn *connector) loginPolicy() func(browser.Request) error {
	return func(r browser.Request) error {
		u, err := origin.ParseURL(r.URL)
		if err != nil {
			return abi.Errorf(abi.ErrOriginDenied, "login", "%q: %w", r.URL, err)
		}
		for _, o := range conn.site.login {
			if u.Origin() == o {
				return nil
			}
		}
		own := func(p origin.Pattern) bool { return p.MatchOrigin(u) }
		if slices.ContainsFunc(conn.site.origins, own) || slices.ContainsFunc(conn.site.resources, func(p origin.Pattern) bool { return p.Match(u) }) {
			return nil
		}
		return abi.Errorf(abi.ErrOriginDenied, "login", "%q is neither the connector's nor an identity provider's origin", u.Origin())
	}
}

// visitLogin goes to the login page and waits for its form, or for a page that
// says that somebody is signed in already.
func (h *Host) visitLogin(ctx context.Context, conn *connector, page *browser.Page, field string) (browser.Visit, error) {
	u, err := conn.site.url(conn.def.Login.Path)
	if err != nil {
		return browser.Visit{}, err
	}
	pages := abi.Pages{SignedIn: conn.site.pages.SignedIn, SignedOut: []abi.Condition{{Selector: field}}}
	return page.Navigate(ctx, browser.Navigation{URL: u.String(), Pages: pages})
}

func (h *Host) finishLogin(ctx context.Context, conn *connector, err error) (string, error) {
	if err != nil {
		return "", abi.Errorf(abi.ErrAuthExpired, "login", "the site does not say that anybody is signed in: %w", err)
	}
	return h.whoami(ctx, conn)
}

// whoami opens a reading tab and says which account the site knows.
func (h *Host) whoami(ctx context.Context, conn *connector) (string, error) {
	l, err := h.tabs.plain(ctx, conn)
	if err != nil {
		return "", err
	}
	defer l.release()
	return h.account(ctx, conn, l)
}

// headedLogin shows a person the login page: in a browser of ours, which is
// started anew with a window, or in a tab of the browser that is the user's.
func (h *Host) headedLogin(ctx context.Context, conn *connector) (account string, err error) {
	ctx, cancel := context.WithTimeout(ctx, LoginWait)
	defer cancel()
	if h.opts.Attach != nil {
		b, err := h.tabs.browsers.get(ctx)
		if err != nil {
			return "", err
		}
		if err := conn.awaitLogin(ctx, b); err != nil {
			return "", err
		}
		return h.whoami(ctx, conn)
	}
	b, err := h.tabs.browsers.restart(ctx, false)
	if err != nil {
		back := context.WithoutCancel(ctx)
		_, rerr := h.tabs.browsers.restart(back, true)
		if _, none := browser.Find(); none != nil {
			return "", none // and its hint; a form would need a browser, too
		}
		return "", errors.Join(abi.Errorf(abi.ErrUnsupportedAction, "login", "no browser window can be shown here: %w", err).
			WithHint("drawbridge login %s --form", conn.def.ID), rerr)
	}
	defer func() {
		back := context.WithoutCancel(ctx)
		if _, rerr := h.tabs.browsers.restart(back, true); err == nil {
			if err = rerr; err == nil {
				account, err = h.whoami(back, conn)
			}
		}
	}()
	return "", conn.awaitLogin(ctx, b)
}

// awaitLogin shows the login page until the site says that somebody is signed in.
func (conn *connector) awaitLogin(ctx context.Context, b *browser.Browser) error {
	page, err := b.OpenShown(ctx, browser.Policy{Check: conn.loginPolicy()})
	if err != nil {
		return err
	}
	defer func() { _ = page.Close() }()
	u, err := conn.site.url(conn.def.Login.Path)
	if err != nil {
		return err
	}
	if err := page.Show(ctx, u.String()); err != nil {
		return err
	}
	_, err = page.Settle(ctx, abi.Pages{SignedIn: conn.site.pages.SignedIn}, "")
	return err
}
