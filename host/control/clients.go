package control

import (
	"context"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/clients"
)

// ClientParams names an MCP client.
type ClientParams struct {
	Name   string `json:"name"`
	MayAsk bool   `json:"may_ask,omitempty"` // on add: trusted to ask for confirmations itself
}

// A NewClient is told once: the token is kept only as a hash.
type NewClient struct {
	Name  string `json:"client"`
	URL   string `json:"url"`
	Token string `json:"token"`
}

// A ClientInfo is one registered client.
type ClientInfo struct {
	Name  string    `json:"client"`
	Added time.Time `json:"added"`
	// MayAsk says that a person trusts it to ask for confirmations itself.
	MayAsk bool `json:"may_ask,omitempty"`
}

func (s *Server) newClient(name, token string) NewClient {
	return NewClient{Name: name, URL: "http://" + s.Daemon.Status().HTTP + "/mcp", Token: token}
}

func addClient(ctx context.Context, r *request) (any, error) {
	var p ClientParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	if p.MayAsk {
		switch _, ok, err := r.server.client(p.Name); {
		case err != nil:
			return nil, err
		case ok:
			return nil, abi.Errorf(abi.ErrInvalidArgs, "", "there is a client %q already", p.Name).WithHint("drawbridge clients may-ask %s", p.Name)
		}
		if err := r.mayTrust(ctx, p.Name); err != nil {
			return nil, err
		}
	}
	token, c, err := r.server.Clients.Add(ctx, p.Name)
	if err != nil {
		return nil, err
	}
	if err := r.server.Host.Note(ctx, "client added", c.Name); err != nil {
		return nil, err
	}
	if p.MayAsk {
		return r.trust(ctx, p.Name)
	}
	return r.server.newClient(c.Name, token), nil
}

// cliClient is the principal of tool calls from the command line. It has no dialog
// to ask in.
const cliClient = "cli"

// trustClient lets a client ask for confirmations itself, after a person agreed.
func trustClient(ctx context.Context, r *request) (any, error) {
	var p ClientParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	switch _, ok, err := r.server.client(p.Name); {
	case err != nil:
		return nil, err
	case !ok:
		return nil, abi.Errorf(abi.ErrNotFound, "", "there is no client %.64q", p.Name).WithHint("drawbridge clients add %.31s --may-ask", p.Name)
	}
	if err := r.mayTrust(ctx, p.Name); err != nil {
		return nil, err
	}
	return r.trust(ctx, p.Name)
}

// mayTrust asks the person at the command line whether a client may ask.
func (r *request) mayTrust(ctx context.Context, name string) error {
	if name == cliClient {
		return abi.Errorf(abi.ErrInvalidArgs, "", "%q is the command line itself, which has drawbridge approvals", name)
	}
	if err := r.server.personFor(r.http, "drawbridge clients may-ask "+name); err != nil {
		return err
	}
	return r.server.Host.Questions.Ask(ctx, "Trust this client to ask?", []string{
		"client       " + name,
		"What it tells us you answered in its own dialog will count like your own answer to drawbridge approvals:",
		"for its own calls, each time for the one call that was shown.",
		"Whoever holds its token can answer in your name. Do this only for a client whose dialog no agent can answer,",
		"and keep the token where no agent reads it. It gets a new token; the one before is refused from now on.",
	}, r.ask)
}

// trust does what a person agreed to. Connections from before it are not trusted:
// they may have come by the name alone.
func (r *request) trust(ctx context.Context, name string) (any, error) {
	token, c, err := r.server.Clients.Trust(ctx, name)
	if err != nil {
		return nil, err
	}
	r.server.Gate.Revoke(c.ID)
	r.server.clients.revoke(c.ID)
	return r.server.newClient(c.Name, token), r.server.Host.Note(ctx, "client trusted to ask", c.Name)
}

// distrustClient takes that away. It grants nothing, so nobody is asked.
func distrustClient(ctx context.Context, r *request) (any, error) {
	var p ClientParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	c, err := r.server.Clients.Distrust(ctx, p.Name)
	if err != nil {
		return nil, err
	}
	return struct{}{}, r.server.Host.Note(ctx, "client no longer trusted to ask", c.Name)
}

// client finds a client by its name.
func (s *Server) client(name string) (c clients.Client, ok bool, err error) {
	all, err := s.Clients.List()
	i := slices.IndexFunc(all, func(c clients.Client) bool { return c.Name == name })
	if err != nil || i < 0 {
		return clients.Client{}, false, err
	}
	return all[i], true, nil
}

func listClients(_ context.Context, r *request) (any, error) {
	all, err := r.server.Clients.List()
	list := make([]ClientInfo, 0, len(all))
	for _, c := range all {
		list = append(list, ClientInfo{Name: c.Name, Added: c.Created, MayAsk: c.MayAsk})
	}
	return list, err
}

// revokeClient makes the token worthless and ends what its owner has asked for.
func revokeClient(ctx context.Context, r *request) (any, error) {
	var p ClientParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	c, err := r.server.Clients.Revoke(ctx, p.Name)
	if err != nil {
		return nil, err
	}
	r.server.Gate.Revoke(c.ID)
	r.server.clients.revoke(c.ID)
	return struct{}{}, r.server.Host.Note(ctx, "client revoked", c.Name)
}

// principal finds the client called name, for callers that come over the
// control socket without a token; it is registered if it is new. A name grants
// nothing: whatever is destructive still asks a person. So a client that is
// trusted to ask can't be joined by its name, which an agent's shell may say too.
func (s *Server) principal(ctx context.Context, name string) (host.Principal, error) {
	switch c, ok, err := s.client(name); {
	case err != nil:
		return host.Principal{}, err
	case ok && c.MayAsk:
		return host.Principal{}, abi.Errorf(abi.ErrForbidden, "mcp", "client %q is trusted to ask, and has to show its token", name).
			WithHint("set %s to the token that drawbridge clients may-ask %s printed", TokenVar, name)
	case ok:
		return c.Principal(), nil
	}
	_, c, err := s.Clients.Add(ctx, name)
	if err != nil {
		return host.Principal{}, err
	}
	return c.Principal(), s.Host.Note(ctx, "client added", name+" (over the control socket, without a token)")
}

// TokenVar names the environment variable in which a stdio client hands its token
// to drawbridge mcp.
const TokenVar = "DRAWBRIDGE_TOKEN"

// joining is whose byte stream a join asks for: the token's, or that of the name.
func (s *Server) joining(ctx context.Context, p JoinParams) (host.Principal, error) {
	if p.Token == "" {
		return s.principal(ctx, p.Client)
	}
	who, ok := s.Clients.Authenticate(p.Token)
	if !ok || who.Name != p.Client {
		return host.Principal{}, abi.Errorf(abi.ErrForbidden, "mcp", "the token in %s is not the one of client %.64q", TokenVar, p.Client).
			WithHint("drawbridge clients list")
	}
	return who, nil
}
