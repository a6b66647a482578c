package control

import (
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// ClientParams names an MCP client.
type ClientParams struct {
	Name string `json:"name"`
}

// A NewClient is told once: the token is kept only as a hash.
type NewClient struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	Token string `json:"token"`
}

// A ClientInfo is one registered client.
type ClientInfo struct {
	Name  string    `json:"name"`
	Added time.Time `json:"added"`
}

func addClient(ctx context.Context, r *request) (any, error) {
	var p ClientParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	token, c, err := r.server.Clients.Add(ctx, p.Name)
	if err != nil {
		return nil, err
	}
	if err := r.server.Host.Note(ctx, "client added", c.Name); err != nil {
		return nil, err
	}
	return NewClient{Name: c.Name, URL: "http://" + r.server.Daemon.Status().HTTP + "/mcp", Token: token}, nil
}

func listClients(_ context.Context, r *request) (any, error) {
	all, err := r.server.Clients.List()
	list := make([]ClientInfo, 0, len(all))
	for _, c := range all {
		list = append(list, ClientInfo{Name: c.Name, Added: c.Created})
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
// control socket and so need no token; it is registered if it is new. A name
// grants nothing: whatever is destructive still asks a person.
func (s *Server) principal(ctx context.Context, name string) (host.Principal, error) {
	all, err := s.Clients.List()
	if err != nil {
		return host.Principal{}, err
	}
	for _, c := range all {
		if c.Name == name {
			return c.Principal(), nil
		}
	}
	_, c, err := s.Clients.Add(ctx, name)
	if err != nil {
		return host.Principal{}, err
	}
	return c.Principal(), s.Host.Note(ctx, "client added", name+" (over the control socket, without a token)")
}
