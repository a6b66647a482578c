package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/mcpserver"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// httpPortVar names the environment variable that sets the port of MCP over HTTP.
const httpPortVar = "DRAWBRIDGE_PORT"

// defaultPort is where MCP over HTTP listens, on 127.0.0.1 alone.
const defaultPort = 8407

// attachVar names the environment variable that says which browser of the user's
// to attach to, by address or by profile directory.
const attachVar = "DRAWBRIDGE_ATTACH"

// serveOptions are what a daemon is started with.
type serveOptions struct {
	port   int
	attach browser.AttachOptions // the zero value launches a browser of our own
}

func (a *app) serveCmd() *cobra.Command {
	o := serveOptions{port: defaultPort}
	if v, err := strconv.Atoi(a.getenv(httpPortVar)); err == nil {
		o.port = v
	}
	if v := a.getenv(attachVar); strings.Contains(v, "://") {
		o.attach.URL = v
	} else {
		o.attach.Profile = v
	}
	cmd := &cobra.Command{
		Use: "serve", Short: "run the daemon in the foreground", Args: cobra.NoArgs,
		Long: `Runs the daemon in the foreground. It launches a browser with a profile of its
own, unless --attach or --attach-profile names one that you have started with
remote debugging: then it works in tabs of its own in that browser, which stays
yours. ` + attachVar + ` says the same for a daemon that another command starts.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("attach") != cmd.Flags().Changed("attach-profile") {
				o.attach = chosen(cmd, o.attach)
			}
			return a.serve(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.port, "port", o.port, "port of MCP over HTTP on 127.0.0.1; 0 picks a free one")
	cmd.Flags().StringVar(&o.attach.URL, "attach", o.attach.URL, "`address` of a running browser: ws://127.0.0.1:PORT/devtools/browser/ID")
	cmd.Flags().StringVar(&o.attach.Profile, "attach-profile", o.attach.Profile, "`directory` of the profile of a running browser")
	cmd.MarkFlagsMutuallyExclusive("attach", "attach-profile")
	return cmd
}

// chosen is what the command line says, whatever the environment says beside it.
func chosen(cmd *cobra.Command, o browser.AttachOptions) browser.AttachOptions {
	if cmd.Flags().Changed("attach") {
		o.Profile = ""
	} else {
		o.URL = ""
	}
	return o
}

// checkAttach refuses an address that no browser has, before anything is
// started. Whether the browser is there is found out when a call needs it.
func checkAttach(o browser.AttachOptions) (browser.AttachOptions, error) {
	if o.URL != "" {
		_, err := browser.ParseEndpoint(o.URL)
		return o, err
	}
	if o.Profile == "" {
		return o, nil
	}
	var err error
	o.Profile, err = filepath.Abs(o.Profile)
	return o, err
}

// A daemon is the one process that owns the browser.
type daemon struct {
	parts   *parts
	mcp     *mcpserver.Server
	control *control.Server
	started time.Time
	http    string // host:port
	logger  *slog.Logger
	worker  []string
	attach  browser.AttachOptions
}

func (a *app) serve(ctx context.Context, o serveOptions) (err error) {
	if o.attach, err = checkAttach(o.attach); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	platform.KeepPrivate() // Git and the browser have modes of their own
	dirs, err := a.dirs()
	if err != nil {
		return err
	}
	lock, err := platform.Lock(ctx, dirs.LockFile(), platform.LockInfo{PID: os.Getpid(), Version: version})
	if err != nil {
		if held, ok := errors.AsType[*platform.HeldError](err); ok {
			return abi.Errorf(abi.ErrUnsupportedAction, "serve", "a daemon is already running (process %d): %w", held.Info.PID, err).WithHint("drawbridge stop")
		}
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	d := &daemon{started: time.Now(), logger: newLogger(a.stderr), control: &control.Server{Version: version}, worker: a.worker, attach: o.attach}
	if d.parts, err = build(ctx, dirs, d); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.parts.close()) }()
	return d.listen(ctx, dirs, lock, o.port)
}

// listen opens both doors and serves until ctx ends.
func (d *daemon) listen(ctx context.Context, dirs platform.Dirs, lock *platform.FileLock, port int) error {
	var lc net.ListenConfig
	web, err := lc.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return abi.Errorf(abi.ErrUnsupportedAction, "serve", "port %d is taken: %w", port, err).WithHint("drawbridge serve --port 0, or set %s", httpPortVar)
	}
	d.http = web.Addr().String()
	sock, err := platform.Listen(ctx, dirs.Socket())
	if err != nil {
		return errors.Join(err, web.Close())
	}
	srv := d.webServer(ctx, web)
	failed := make(chan error, 2)
	ctl := d.control
	ctl.Host, ctl.Clients, ctl.Gate, ctl.Audit = d.parts.host, d.parts.clients, d.parts.gate, d.parts.audit
	ctl.Daemon, ctl.Logger = d, d.logger
	go func() { failed <- srv.Serve(mcpserver.LimitConnections(web)) }()
	go func() { failed <- ctl.Serve(ctx, sock) }()
	info := platform.LockInfo{PID: os.Getpid(), Version: version, Socket: dirs.Socket(), HTTP: d.http}
	if err := lock.Update(info); err != nil {
		return err
	}
	d.logger.InfoContext(ctx, "serving", slog.String("http", "http://"+d.http+"/mcp"), slog.String("socket", dirs.Socket()))
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	d.mcp.Close()
	_ = srv.Close()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (d *daemon) webServer(ctx context.Context, l net.Listener) *http.Server {
	srv := mcpserver.NewHTTPServer(d.mcp.Handler(d.parts.clients.Authenticate, mcpserver.HTTPOptions{Hosts: mcpserver.LocalHosts(l)}))
	srv.BaseContext = func(net.Listener) context.Context { return ctx }
	srv.ErrorLog = slog.NewLogLogger(d.logger.Handler(), slog.LevelDebug)
	return srv
}

// ServeMCP serves one stdio client that joined over the control socket.
func (d *daemon) ServeMCP(ctx context.Context, stream net.Conn, p host.Principal) error {
	return d.mcp.ServeStdio(ctx, stream, stream, p)
}

// Status describes the daemon.
func (d *daemon) Status() control.Status {
	path, _ := browser.Find() // empty if there is none; doctor says more
	if d.attaches() {
		path = d.attach.URL + d.attach.Profile // one of the two is empty
	}
	return control.Status{Version: version, PID: os.Getpid(), HTTP: d.http, Started: d.started, Browser: path}
}

// attaches reports whether the browser is the user's.
func (d *daemon) attaches() bool { return d.attach.URL != "" || d.attach.Profile != "" }

func newLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, nil))
}

func (a *app) stopCmd() *cobra.Command {
	return &cobra.Command{
		Use: "stop", Short: "end the running daemon", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.stopDaemon(cmd.Context()) },
	}
}
