package mcpserver

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// bodyTimeout is how long a client may take to send a request's body.
const bodyTimeout = 30 * time.Second

// Handler serves streamable HTTP on /mcp, for both eras: POST, and for sessions of
// the old era GET and DELETE. Every request is authenticated by itself; a session
// belongs to the principal that began it. Its limits hold in a server that
// NewHTTPServer made.
func (s *Server) Handler(a Auth, o HTTPOptions) http.Handler {
	h := &httpHandler{
		srv:      s,
		guard:    guard{auth: a, hosts: lower(o.Hosts), origins: o.Origins, log: s.log},
		sessions: &sessions{srv: s, byID: map[string]*httpSession{}},
		requests: requests{running: map[string]int{}, bytes: map[string]int64{}},
	}
	return h
}

func lower(list []string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = strings.ToLower(v)
	}
	return out
}

type httpHandler struct {
	srv      *Server
	guard    guard
	sessions *sessions
	requests requests
}

// ServeHTTP lets nobody in before the guard, whatever the path.
func (h *httpHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who, ok := h.guard.admit(w, r)
	if !ok {
		return
	}
	leave, ok := h.requests.enter(r, who)
	if !ok {
		tooMany(w)
		return
	}
	defer leave()
	switch {
	case r.URL.Path != "/mcp":
		refuse(w, http.StatusNotFound, "not found; MCP is at /mcp")
	default:
		h.serve(w, r, who)
	}
}

func tooMany(w http.ResponseWriter) {
	w.Header().Set("Connection", "close") // the body is not wanted
	refuse(w, http.StatusTooManyRequests, "too many requests at once")
}

// serve chooses by method and era.
func (h *httpHandler) serve(w http.ResponseWriter, r *http.Request, who host.Principal) {
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	modern := mcp.IsModernProtocol(version)
	switch {
	case r.Method == http.MethodPost:
		h.post(w, r, who)
	case r.Method != http.MethodGet && r.Method != http.MethodDelete, modern:
		w.Header().Set("Allow", allowed(modern))
		refuse(w, http.StatusMethodNotAllowed, "method not allowed")
	case version != "" && !mcp.IsValidProtocolVersion(version):
		refuse(w, http.StatusBadRequest, "unsupported protocol version")
	case r.Method == http.MethodGet:
		h.get(w, r, who)
	default:
		h.delete(w, r, who)
	}
}

// allowed names the methods of an era.
func allowed(modern bool) string {
	if modern {
		return "POST"
	}
	return "POST, GET, DELETE"
}

// post serves one message.
func (h *httpHandler) post(w http.ResponseWriter, r *http.Request, who host.Principal) {
	if !isJSON(r) {
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusUnsupportedMediaType, "content type must be application/json")
		return
	}
	held := int64(maxMessage) // where the request does not say
	if r.ContentLength >= 0 {
		held = min(r.ContentLength, maxMessage)
	}
	if !h.requests.hold(who, held, h.srv.maxPending) {
		tooMany(w)
		return
	}
	body, status, reason := readBody(w, r)
	h.requests.letGo(who, held-int64(len(body)))
	defer h.requests.letGo(who, int64(len(body)))
	if status != 0 {
		w.Header().Set("Connection", "close")
		refuse(w, status, reason)
		return
	}
	m, err := parseMessage(body)
	switch {
	case err != nil && m != nil:
		writeJSON(w, http.StatusBadRequest, errorFrame(m.id, err))
	case err != nil:
		writeJSON(w, http.StatusBadRequest, errorFrame(nil, err))
	case m.modern() || mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)):
		h.postModern(w, r, who, m)
	default:
		h.postLegacy(w, r, who, m)
	}
}

// readBody reads a body within the limits of size and time, or says why not.
func readBody(w http.ResponseWriter, r *http.Request) (body []byte, status int, reason string) {
	if r.ContentLength > maxMessage {
		return nil, http.StatusRequestEntityTooLarge, "body is too large"
	}
	// A server that can't set deadlines (a test's) has none.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	_ = rc.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, http.StatusRequestEntityTooLarge, "body is too large"
	case err != nil:
		return nil, http.StatusBadRequest, "body could not be read"
	}
	return body, 0, ""
}

// postModern serves a message of the stateless era. Notifications have no meaning
// there over HTTP (closing the stream is the cancel), so that no client can reach
// another's request with one.
func (h *httpHandler) postModern(w http.ResponseWriter, r *http.Request, who host.Principal, m *message) {
	switch {
	case m.method == "":
		writeJSON(w, http.StatusBadRequest, errorFrame(nil, rpcErrorf(mcp.INVALID_REQUEST, "responses are not accepted")))
		return
	case m.notification():
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if err := h.srv.checkHeaders(r, who, m); err != nil {
		writeJSON(w, http.StatusBadRequest, errorFrame(m.id, err))
		return
	}
	h.answer(w, r, h.srv.newPeer(who), m)
}

// postLegacy serves a message of a session, or begins one.
func (h *httpHandler) postLegacy(w http.ResponseWriter, r *http.Request, who host.Principal, m *message) {
	if v := r.Header.Get(mcp.HeaderProtocolVersion); v != "" && !mcp.IsValidProtocolVersion(v) {
		refuse(w, http.StatusBadRequest, "unsupported protocol version")
		return
	}
	if m.method == string(mcp.MethodInitialize) && !m.notification() {
		h.initialize(w, r, who, m)
		return
	}
	sess, ok := h.session(w, r, who)
	if !ok {
		return
	}
	defer sess.leave()
	switch {
	case m.method == "":
		sess.peer.answered(m)
		w.WriteHeader(http.StatusAccepted)
	case m.notification():
		if m.method == string(mcp.MethodNotificationCancelled) {
			sess.peer.cancel(m)
		}
		w.WriteHeader(http.StatusAccepted)
	default:
		h.answer(w, r, sess.peer, m)
	}
}

// initialize begins a session, if the client gets that far.
func (h *httpHandler) initialize(w http.ResponseWriter, r *http.Request, who host.Principal, m *message) {
	p := h.srv.newPeer(who)
	first := p.answer(r.Context(), m, nowhere{})
	if p.session.Initialized() {
		id, ok := h.sessions.begin(p)
		if !ok {
			refuse(w, http.StatusServiceUnavailable, "too many sessions")
			return
		}
		w.Header().Set(mcp.HeaderSessionID, id)
	}
	writeJSON(w, http.StatusOK, first.frame)
}

// nowhere is the stream of requests that have no frames but their reply.
type nowhere struct{}

func (nowhere) send(frame) error { return nil }
func (nowhere) carries() bool    { return false }

// session enters the session that a request names; leave it afterwards. Another
// principal's session looks like none.
func (h *httpHandler) session(w http.ResponseWriter, r *http.Request, who host.Principal) (*httpSession, bool) {
	ids := r.Header.Values(mcp.HeaderSessionID)
	if len(ids) != 1 {
		refuse(w, http.StatusBadRequest, "one "+mcp.HeaderSessionID+" header is needed; begin with initialize")
		return nil, false
	}
	sess, ok := h.sessions.enter(ids[0], who)
	if !ok {
		refuse(w, http.StatusNotFound, "no such session; begin with initialize")
		return nil, false
	}
	return sess, true
}

// delete ends a session and the calls in it.
func (h *httpHandler) delete(w http.ResponseWriter, r *http.Request, who host.Principal) {
	sess, ok := h.session(w, r, who)
	if !ok {
		return
	}
	defer sess.leave()
	h.sessions.end(sess)
	w.WriteHeader(http.StatusNoContent)
}

// get streams what belongs to no request: that the lists changed.
func (h *httpHandler) get(w http.ResponseWriter, r *http.Request, who host.Principal) {
	if !acceptsStream(r) {
		refuse(w, http.StatusNotAcceptable, "text/event-stream must be accepted")
		return
	}
	sess, ok := h.session(w, r, who)
	if !ok {
		return
	}
	defer sess.leave()
	replaced := sess.listen()
	changed, stop := h.srv.hub.listen()
	defer stop()
	out := newEvents(w, r)
	defer out.end()
	if out.comment() != nil { // the header goes out now
		return
	}
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-h.srv.done:
			return
		case <-sess.ended:
			return
		case <-replaced:
			return
		case <-alive.C:
			if !h.still(r, who) || out.comment() != nil {
				return
			}
		case <-changed:
			if sendAll(out, listsChanged(everyList(), nil)) != nil {
				return
			}
		}
	}
}

// still reports whether a request that began long ago would be let in today.
func (h *httpHandler) still(r *http.Request, who host.Principal) bool {
	now, status, _ := h.guard.check(r)
	return status == 0 && now.ID == who.ID
}

// answer runs a request and writes what comes of it: one JSON document, or a
// stream of events if something is to be told before the reply.
func (h *httpHandler) answer(w http.ResponseWriter, r *http.Request, p *peer, m *message) {
	out := newEvents(w, r)
	defer out.end()
	if m.method == string(mcp.MethodSubscriptionsListen) {
		if !acceptsStream(r) {
			refuse(w, http.StatusNotAcceptable, "text/event-stream must be accepted")
			return
		}
		ctx, stop := h.watch(r.Context(), r, p.who, out)
		defer stop()
		out.finish(p.answer(ctx, m, out), m.modern())
		return
	}
	out.finish(p.answer(r.Context(), m, out), m.modern())
}

// writeJSON writes one JSON document.
func writeJSON(w http.ResponseWriter, status int, f frame) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(f) // the client may have gone
}
