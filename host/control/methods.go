package control

import (
	"context"
	"encoding/json"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// A method answers one request with a value that becomes JSON.
type method func(ctx context.Context, r *request) (any, error)

// methods is the one table of methods.
func methods() map[string]method {
	return map[string]method{
		"status":              status,
		"confirm":             confirm,
		"registries.add":      addRegistry,
		"registries.list":     listRegistries,
		"registries.remove":   removeRegistry,
		"registries.fetch":    fetchRegistries,
		"plugins.search":      search,
		"plugins.info":        pluginInfo,
		"plugins.names":       pluginNames,
		"plugins.outdated":    outdatedPlugins,
		"plugins.verify":      verifyPlugins,
		"plugins.settings":    pluginSettings,
		"plugins.install":     install,
		"plugins.list":        listPlugins,
		"plugins.remove":      removePlugin,
		"plugins.update":      updatePlugins,
		"plugins.rollback":    rollbackPlugin,
		"plugins.pin":         pinPlugin,
		"plugins.unpin":       unpinPlugin,
		"health.list":         listHealth,
		"health.check":        checkHealth,
		"tools.list":          listTools,
		"tools.call":          callTool,
		"login":               login,
		"logout":              logout,
		"approvals.list":      listApprovals,
		"approvals.challenge": challenge,
		"approvals.decide":    decide,
		"clients.add":         addClient,
		"clients.list":        listClients,
		"clients.revoke":      revokeClient,
		"clients.trust":       trustClient,
		"clients.distrust":    distrustClient,
	}
}

// Status describes the daemon.
type Status struct {
	Version string            `json:"version"`
	PID     int               `json:"pid"`
	HTTP    string            `json:"http"` // host:port of MCP over HTTP
	Started time.Time         `json:"started"`
	Browser string            `json:"browser"` // path of its program
	Tools   int               `json:"tools"`
	Problem map[string]*Error `json:"problems,omitempty"` // by namespace/name
}

func status(ctx context.Context, r *request) (any, error) {
	st := r.server.Daemon.Status()
	st.Tools = len(r.server.Host.Tools(ctx, host.Principal{}))
	for name, e := range r.server.Host.Problems() {
		if st.Problem == nil {
			st.Problem = map[string]*Error{}
		}
		st.Problem[name] = wireError(e)
	}
	return st, nil
}

// ConfirmParams answers a Question; an empty code is a no.
type ConfirmParams struct {
	ID   string `json:"id"`
	Code string `json:"code"`
}

func confirm(_ context.Context, r *request) (any, error) {
	var p ConfirmParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	if p.Code != "" {
		if err := r.server.personFor(r.http, "the same command"); err != nil {
			_ = r.server.Host.Questions.Answer(p.ID, "") // a refused answer ends it
			return nil, err
		}
	}
	return struct{}{}, r.server.Host.Questions.Answer(p.ID, p.Code)
}

// RegistryParams names a registry; URL and Fingerprint only when it is added.
type RegistryParams struct {
	URL         string `json:"url,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	ID          string `json:"id,omitempty"`
}

func addRegistry(ctx context.Context, r *request) (any, error) {
	var p RegistryParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return r.server.Host.AddRegistry(r.transfers(ctx), p.URL, p.Fingerprint, r.ask)
}

// transfers makes the caller hear how far Git's transfers are.
func (r *request) transfers(ctx context.Context) context.Context {
	return host.WithTransfer(ctx, func(what string, percent int) {
		_ = r.send(Event{Progress: &Progress{Done: float64(percent), Total: 100, Message: what, Passing: true}}) // the caller may be gone
	})
}

func listRegistries(ctx context.Context, r *request) (any, error) {
	return r.server.Host.Registries(ctx)
}

func removeRegistry(ctx context.Context, r *request) (any, error) {
	var p RegistryParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return struct{}{}, r.server.Host.RemoveRegistry(ctx, p.ID)
}

// PluginParams names a plugin: namespace/name, or the name alone, with @version,
// @constraint or @channel where one is chosen.
type PluginParams struct {
	Ref      string            `json:"ref,omitempty"`
	Settings map[string]string `json:"settings,omitempty"`
}

func install(ctx context.Context, r *request) (any, error) {
	var p PluginParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return r.server.Host.Install(r.transfers(ctx), p.Ref, p.Settings, r.ask, r.tell)
}

func listPlugins(ctx context.Context, r *request) (any, error) {
	return r.server.Host.Plugins(ctx)
}

func listHealth(ctx context.Context, r *request) (any, error) {
	return r.server.Host.Health(ctx), nil
}

// HealthParams names the connector to check; empty is all of them.
type HealthParams struct {
	Connector string `json:"connector,omitempty"`
}

func checkHealth(ctx context.Context, r *request) (any, error) {
	var p HealthParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return r.server.Host.CheckHealth(ctx, p.Connector)
}

// A Tool is one row of tools.list.
type Tool struct {
	Name        string          `json:"tool"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Destructive bool            `json:"destructive"`
	Input       json.RawMessage `json:"input"`
}

func listTools(ctx context.Context, r *request) (any, error) {
	list := []Tool{}
	for _, t := range r.server.Host.Tools(ctx, host.Principal{}) {
		list = append(list, Tool{Name: t.Name, Title: t.Title, Description: t.Description, Destructive: t.Destructive, Input: t.Input})
	}
	return list, nil
}

// CallParams is one tool call from the command line.
type CallParams struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

func callTool(ctx context.Context, r *request) (any, error) {
	var p CallParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	who, err := r.server.principal(ctx, cliClient)
	if err != nil {
		return nil, err
	}
	defer r.tellWaiting(ctx, who, p)()
	res := r.server.Host.Call(ctx, host.CallRequest{
		Principal: who, Client: "drawbridge call", Tool: p.Tool, Args: p.Args,
		Progress: func(done, total float64, message string) {
			_ = r.send(Event{Progress: &Progress{Done: done, Total: total, Message: message}}) // the caller may be gone
		},
	})
	if res.Err != nil {
		return nil, res.Err
	}
	return res.Structured, nil
}

// LoginParams asks to sign in; with Form, the fields are typed by the host.
type LoginParams struct {
	Connector string `json:"connector"`
	Form      bool   `json:"form,omitempty"`
	Username  string `json:"username,omitempty"`
	Password  string `json:"password,omitempty"`
}

// LoginResult says who is signed in.
type LoginResult struct {
	Account string `json:"account"`
	Already bool   `json:"already"` // somebody was signed in before, and nothing was typed
}

func login(ctx context.Context, r *request) (any, error) {
	var p LoginParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	var form *host.FormLogin
	if p.Form {
		form = &host.FormLogin{Username: p.Username, Password: p.Password}
	}
	in, err := r.server.Host.Login(ctx, p.Connector, form)
	return LoginResult{Account: in.Account, Already: in.Already}, err
}

// LogoutParams asks to forget a site's session; with Identity, its identity
// providers' too.
type LogoutParams struct {
	Connector string `json:"connector"`
	Identity  bool   `json:"identity,omitempty"`
}

// LogoutResult says what was removed.
type LogoutResult struct {
	Cookies int      `json:"cookies"`
	Origins []string `json:"origins"`
}

func logout(ctx context.Context, r *request) (any, error) {
	var p LogoutParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	out, err := r.server.Host.Logout(ctx, p.Connector, p.Identity, r.ask)
	return LogoutResult{Cookies: out.Cookies, Origins: out.Origins}, err
}
