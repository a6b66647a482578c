package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/logfile"
	"github.com/drawbridge-mcp/drawbridge/host/mcpserver"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

// httpPortVar names the environment variable that sets the port of MCP over HTTP.
const httpPortVar = "DRAWBRIDGE_PORT"

// defaultPort is where MCP over HTTP listens, on 127.0.0.1 alone.
const defaultPort = 8407

const maxPort = 1<<16 - 1

// port is where MCP over HTTP shall listen, by the environment.
func (a *app) port() (int, error) {
	text := a.getenv(httpPortVar)
	if text == "" {
		return defaultPort, nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return defaultPort, abi.Errorf(abi.ErrInvalidArgs, "", "%s is %q, and no port: want 0 to %d", httpPortVar, text, maxPort).
			WithHint("export %s=%d", httpPortVar, defaultPort)
	}
	return int(port), nil
}

// logLevelVar names the environment variable that sets what a daemon logs.
const logLevelVar = "DRAWBRIDGE_LOG_LEVEL"

// serveOptions are what a daemon is started with.
type serveOptions struct {
	port   int
	attach browser.AttachOptions // the zero value launches a browser of our own
	fresh  time.Duration         // how often registries are fetched; 0 is never
	level  logLevel
	quiet  bool
}

func (a *app) serveCmd() *cobra.Command {
	o := serveOptions{attach: attachFrom(a.getenv(attachVar)), level: logLevel{slog.LevelInfo}}
	var wrongPort, wrongRefresh error
	o.port, wrongPort = a.port()
	o.fresh, wrongRefresh = a.refresh()
	_ = o.level.Set(a.getenv(logLevelVar)) // what is no level changes nothing
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
			if !cmd.Flags().Changed("port") && wrongPort != nil {
				return wrongPort
			}
			if wrongRefresh != nil {
				return wrongRefresh
			}
			if o.port < 0 || o.port > maxPort {
				return usage(fmt.Errorf("%d is no port: want 0 to %d", o.port, maxPort))
			}
			return a.serve(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.port, "port", o.port, "port of MCP over HTTP on 127.0.0.1; 0 picks a free one")
	attachFlags(cmd, &o.attach)
	cmd.Flags().Var(&o.level, "log-level", "log from this level on: debug, info, warn or error; also "+logLevelVar)
	cmd.Flags().BoolVar(&o.quiet, "quiet", false, "log to the log file alone, not to standard error too")
	return cmd
}

// A daemon is the one process that owns the browser.
type daemon struct {
	parts   *parts
	mcp     *mcpserver.Server
	control *control.Server
	started time.Time
	http    string // host:port
	logger  *slog.Logger
	secrets *redact.Redactor // what it knows stands in no log
	worker  []string
	carries fs.FS         // what the program carries
	refresh time.Duration // how often registries are fetched
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
	d := &daemon{started: time.Now(), secrets: redact.New(), control: &control.Server{Version: version}, worker: a.worker, carries: a.carries(), refresh: o.fresh, attach: o.attach}
	log, err := logfile.Open(logfile.Options{Path: dirs.Journal()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	d.logger = a.newLogger(o, log, d.secrets)
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
		return abi.Errorf(abi.ErrUnsupportedAction, "serve", "port %d is taken: %w", port, err).WithHint("set %s to another port (0 takes a free one), or end the program that has this one", httpPortVar)
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
	ctl.Daemon, ctl.Logger, ctl.Around = d, d.logger, around
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

// newLogger logs to the file, as JSON, and to standard error, for a person or a
// service manager; without secrets.
func (a *app) newLogger(o serveOptions, file io.Writer, secrets *redact.Redactor) *slog.Logger {
	opts := &slog.HandlerOptions{Level: o.level.Level, ReplaceAttr: func(groups []string, at slog.Attr) slog.Attr {
		if at.Key == slog.TimeKey && len(groups) == 0 && at.Value.Kind() == slog.KindTime {
			return slog.Time(at.Key, at.Value.Time().UTC())
		}
		return secrets.Attr(groups, at)
	}}
	var h slog.Handler = slog.NewJSONHandler(file, opts)
	if !o.quiet {
		h = slog.NewMultiHandler(h, slog.NewTextHandler(a.stderr, opts))
	}
	return slog.New(h)
}

func (a *app) stopCmd() *cobra.Command {
	return &cobra.Command{
		Use: "stop", Short: "end the running daemon", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.stopDaemon(cmd.Context()) },
	}
}
