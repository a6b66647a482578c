package mcpserver

import (
	"log/slog"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// An Auth knows clients by their tokens: it returns whose token this is. It must
// not leak by its timing how much of a wrong token is right (compare hashes).
type Auth func(token string) (host.Principal, bool)

// HTTPOptions say to whom the handler answers. The zero value answers nobody.
type HTTPOptions struct {
	// Hosts are the only Host headers that are accepted, with their port, such
	// as "127.0.0.1:8407" and "localhost:8407".
	Hosts []string
	// Origins are the only Origin headers that are accepted. MCP clients send
	// none; web pages always do.
	Origins []string
}

// LocalHosts returns the Host headers of a listener on 127.0.0.1 or ::1: what
// HTTPOptions wants. For any other address it returns nothing.
func LocalHosts(l net.Listener) []string {
	a, ok := l.Addr().(*net.TCPAddr)
	if !ok || !a.IP.IsLoopback() {
		return nil
	}
	return []string{a.String(), net.JoinHostPort("localhost", strconv.Itoa(a.Port))}
}

// maxToken bounds a bearer token, in bytes.
const maxToken = 512

// A guard decides who gets in, before a byte of the body is read. The order tells
// a web page nothing about tokens.
type guard struct {
	auth    Auth
	hosts   []string
	origins []string
	log     *slog.Logger
}

// admit returns the principal of a request, or refuses it.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) (host.Principal, bool) {
	who, status, reason := g.check(r)
	if status == 0 {
		return who, true
	}
	g.log.DebugContext(r.Context(), "request refused", slog.Int("status", status), slog.String("reason", reason))
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="drawbridge"`)
	}
	w.Header().Set("Connection", "close") // the body is not wanted
	refuse(w, status, reason)
	return host.Principal{}, false
}

func (g *guard) check(r *http.Request) (who host.Principal, status int, reason string) {
	if !slices.Contains(g.hosts, strings.ToLower(r.Host)) {
		return who, http.StatusMisdirectedRequest, "unknown host"
	}
	origins := r.Header.Values("Origin")
	if len(origins) > 1 || len(origins) == 1 && !slices.Contains(g.origins, origins[0]) {
		return who, http.StatusForbidden, "origin not allowed"
	}
	if sites := r.Header.Values("Sec-Fetch-Site"); len(origins) == 0 && len(sites) > 0 && !slices.Equal(sites, []string{"none"}) {
		return who, http.StatusForbidden, "requests from web pages are not allowed"
	}
	token, ok := bearer(r)
	if ok {
		who, ok = g.auth(token)
	}
	if !ok || who == (host.Principal{}) {
		return host.Principal{}, http.StatusUnauthorized, "missing or unknown token: drawbridge clients add NAME makes one"
	}
	return who, 0, ""
}

// bearer returns the token of a request that has exactly one.
func bearer(r *http.Request) (string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken || strings.ContainsAny(token, " \t,") {
		return "", false
	}
	return token, true
}

// isJSON reports whether a request says once that its body is JSON. A web page
// can't say so without asking first.
func isJSON(r *http.Request) bool {
	values := r.Header.Values("Content-Type")
	if len(values) != 1 {
		return false
	}
	kind, params, err := mime.ParseMediaType(values[0])
	charset, has := params["charset"]
	return err == nil && kind == "application/json" && (!has || strings.EqualFold(charset, "utf-8"))
}

// refuse answers in one plain line.
func refuse(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, reason, status)
}

// Limits of the HTTP server around the handler.
const (
	maxHeader   = 16 << 10 // bytes of a request's header
	headerSlop  = 4 << 10  // what net/http reads beyond MaxHeaderBytes
	readTimeout = 10 * time.Second
	idleTimeout = 2 * time.Minute
)

// NewHTTPServer returns a server for h with the limits that the handler relies on:
// 16 KiB of header, ten seconds to send it. Writes have no deadline here, because
// calls take long; the handler sets its own. Serve it from LimitConnections.
func NewHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		MaxHeaderBytes:    maxHeader - headerSlop,
		ReadHeaderTimeout: readTimeout,
		IdleTimeout:       idleTimeout,
		ConnContext:       withConnection,
	}
}
