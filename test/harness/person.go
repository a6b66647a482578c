package harness

import (
	"context"
	"os"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
)

// testTTY is the terminal that the world's person sits at.
const testTTY = "pts/test"

func person() gate.Approver {
	return gate.Approver{PID: os.Getpid(), UID: os.Getuid(), TTY: testTTY, Via: gate.ViaTerminal}
}

// Agree answers a question as a person who agrees.
func (w *World) Agree(q host.Question) error {
	go func() { _ = w.Host.Questions.Answer(q.ID, q.Code) }() // Ask reads the answer after it has shown the question
	return nil
}

// AddRegistry pins the world's registry.
func (w *World) AddRegistry() error {
	_, err := w.Host.AddRegistry(w.T.Context(), w.RepoDir, string(w.Keys.Owner.Fingerprint()), w.Agree)
	return err
}

// Install installs a plugin with the world's addresses as its settings.
func (w *World) Install(name string) error {
	_, err := w.Host.Install(w.T.Context(), Namespace+"/"+name, w.Settings(), w.Agree, func(string) {})
	return err
}

// Settings are the addresses of the world's sites, for plugins that have them.
func (w *World) Settings() map[string]string {
	if w.Site == nil {
		return nil
	}
	return map[string]string{"base_url": w.Site.AppURL(), "assets_url": w.Site.AssetsURL(), "login_url": w.Site.IdentityURL()}
}

// Login signs a user of the tracker in.
func (w *World) Login(connector, login string) {
	w.T.Helper()
	for _, u := range site.Users() {
		if u.Login != login {
			continue
		}
		in, err := w.Host.Login(w.T.Context(), connector, &host.FormLogin{Username: u.Login, Password: u.Password})
		w.check(err)
		if in.Account != "" && in.Account != login {
			w.T.Fatalf("signed in as %q, want %q", in.Account, login)
		}
		return
	}
	w.T.Fatalf("the tracker has no user %q", login)
}

// WaitPending returns the first request that waits for a person.
func (w *World) WaitPending() gate.Pending {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), time.Minute)
	defer cancel()
	for list := range w.Gate.Watch(ctx) {
		for _, p := range list {
			if p.State == gate.StateOpen {
				return p
			}
		}
	}
	w.T.Fatal("nothing waits for a person")
	return gate.Pending{}
}

// Decide answers a pending request as a person.
//
//nolint:contextcheck // the test decides, not the caller
func (w *World) Decide(id string, approve bool) error {
	w.T.Helper()
	code, err := w.Gate.Challenge(id)
	if err != nil {
		return err
	}
	return w.Gate.Decide(w.T.Context(), id, code, approve, person())
}

// CallApproved runs a destructive call that a person approves.
func (w *World) CallApproved(tool string, args any) host.CallResult {
	w.T.Helper()
	return w.callDecided(tool, args, true)
}

// CallDenied runs a destructive call that a person denies.
func (w *World) CallDenied(tool string, args any) *abi.Error {
	w.T.Helper()
	return w.wantCode(abi.ErrConfirmationDenied, tool, w.callDecided(tool, args, false))
}

func (w *World) callDecided(tool string, args any, approve bool) host.CallResult {
	w.T.Helper()
	got := make(chan host.CallResult, 1)
	go func() { got <- w.Call(tool, args) }()
	ctx, cancel := context.WithTimeout(w.T.Context(), time.Minute)
	defer cancel()
	watch := w.Gate.Watch(ctx)
	for {
		select {
		case res := <-got:
			return res // it failed before anybody was asked
		case list := <-watch:
			for _, p := range list {
				if p.State == gate.StateOpen && p.Attended {
					w.check(w.Decide(p.ID, approve))
					return <-got
				}
			}
		}
	}
}
