package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
	"github.com/drawbridge-mcp/drawbridge/host/clients"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
)

// A Server answers the command line. Its fields are set before Serve.
type Server struct {
	Host    *host.Host
	Gate    *gate.Gate
	Clients *clients.Store
	Audit   *audit.Log
	Daemon  Daemon
	Logger  *slog.Logger
	Version string
	// Around gives a method's context what the surroundings of the command that
	// calls it mean; nil leaves them unread. They are the command's word.
	Around func(ctx context.Context, env Surroundings) context.Context

	clients connected
}

// Daemon is what the server needs of the process around it.
type Daemon interface {
	// ServeMCP serves one MCP client on a byte stream until it ends.
	ServeMCP(ctx context.Context, stream net.Conn, p host.Principal) error
	// Status describes the daemon.
	Status() Status
}

// Serve answers on l, a unix socket, until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	for _, table := range []map[string]method{methods(), teamMethods()} {
		for name, m := range table {
			mux.HandleFunc("POST /v1/"+name, s.handler(m))
		}
	}
	mux.HandleFunc("POST /v1/mcp", s.joinMCP)
	srv := &http.Server{
		Handler: s.sameProtocol(s.around(mux)), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ErrorLog:    slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// connKey is the context key of the request's net.Conn.
type connKey struct{}

func connOf(r *http.Request) net.Conn {
	c, _ := r.Context().Value(connKey{}).(net.Conn)
	return c
}

// sameProtocol refuses a command line of another protocol version.
func (s *Server) sameProtocol(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get(headerVersion); got != strconv.Itoa(ProtocolVersion) {
			e := abi.Errorf(abi.ErrUnsupportedAction, "control", "the running daemon is drawbridge %s and speaks protocol %d, this command %q", s.Version, ProtocolVersion, got).
				WithHint("drawbridge stop")
			_ = writeEvent(w, Event{Error: wireError(e)}) // the caller may be gone
			return
		}
		next.ServeHTTP(w, r)
	})
}

// A request is one method call while it runs.
type request struct {
	server *Server
	http   *http.Request

	mu sync.Mutex
	w  http.ResponseWriter
}

// send writes one event; events of one answer come from several goroutines.
func (r *request) send(e Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return writeEvent(r.w, e)
}

func writeEvent(w http.ResponseWriter, e Event) error {
	if err := encoder(w).Encode(e); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// ask puts a question to the person at the command line.
func (r *request) ask(q host.Question) error { return r.send(Event{Question: &q}) }

// encoder leaves < and & as they are: no browser reads this, and a person does.
func encoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

func (r *request) params(v any) error { return decodeParams(r.http.Body, v) }

func (s *Server) handler(m method) http.HandlerFunc {
	return func(w http.ResponseWriter, hr *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		r := &request{server: s, http: hr, w: w}
		result, err := m(hr.Context(), r)
		if err == nil {
			var data bytes.Buffer
			if err = encoder(&data).Encode(result); err == nil {
				err = r.send(Event{Result: data.Bytes()})
			}
		}
		if err != nil {
			e := host.Safe(err)
			if e.Code == abi.ErrInternal {
				s.Logger.ErrorContext(hr.Context(), "control request", slog.String("method", hr.URL.Path), slog.Any("error", err))
			}
			_ = r.send(Event{Error: wireError(e)}) // the caller may be gone
		}
	}
}
