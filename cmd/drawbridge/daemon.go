package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// startTimeout is how long a daemon may take to answer after it was started.
const startTimeout = 30 * time.Second

// ensureDaemon finds the running daemon, or starts one that outlives this
// command and its terminal.
func (a *app) ensureDaemon(ctx context.Context, dirs platform.Dirs) (platform.LockInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	info, held, err := platform.ReadLock(dirs.LockFile())
	if err != nil {
		return info, err
	}
	if held && info.Socket != "" {
		return info, a.sameVersion(info)
	}
	exe, err := executable()
	if err != nil {
		return info, err
	}
	d, err := platform.Start(ctx, platform.Command{
		Path: exe, Args: []string{"serve", "--quiet"}, Env: daemonEnv(), Log: dirs.LogFile(),
	})
	if err != nil {
		return info, err
	}
	return a.awaitDaemon(ctx, dirs, d)
}

// awaitDaemon waits until the daemon's lock file names its socket. Two commands
// that start one at the same time both get the one that won.
func (a *app) awaitDaemon(ctx context.Context, dirs platform.Dirs, d *platform.Detached) (platform.LockInfo, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ended := d.Done()
	for {
		info, held, err := platform.ReadLock(dirs.LockFile())
		if err == nil && held && info.Socket != "" {
			return info, a.sameVersion(info)
		}
		select {
		case <-ended:
			if held { // another one holds the lock and is about to answer
				ended = nil
				continue
			}
			return info, abi.Errorf(abi.ErrInternal, "daemon", "the daemon ended at once: %w", errors.Join(d.Err(), err)).
				WithHint("see %s", dirs.LogFile())
		case <-tick.C:
		case <-ctx.Done():
			return info, abi.Errorf(abi.ErrTimeout, "daemon", "the daemon does not answer: %w", ctx.Err()).WithHint("see %s", dirs.LogFile())
		}
	}
}

// sameVersion refuses a daemon of another version, which may keep its files
// differently.
func (a *app) sameVersion(info platform.LockInfo) error {
	if info.Version == version {
		return nil
	}
	return abi.Errorf(abi.ErrUnsupportedAction, "daemon", "the running daemon (process %d) is drawbridge %q, this is %q", info.PID, info.Version, version).
		WithHint("drawbridge stop")
}

// daemonEnv is the environment that a daemon needs; nothing else of the
// caller's reaches it.
func daemonEnv() []string {
	var env []string
	for _, name := range []string{
		"HOME", "PATH", "USER", "LANG", "TZ", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "SSH_AUTH_SOCK",
		"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", platform.HomeVar, "DBUS_SESSION_BUS_ADDRESS", "SSL_CERT_FILE", "GIT_SSL_CAINFO",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		httpPortVar, attachVar, logLevelVar,
	} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// stopDaemon asks the running daemon to end and waits until it has.
func (a *app) stopDaemon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	dirs, err := a.dirs()
	if err != nil {
		return err
	}
	info, held, err := platform.ReadLock(dirs.LockFile())
	if err != nil {
		return err
	}
	if !held {
		a.show(map[string]bool{"stopped": false}, func(w io.Writer) { fmt.Fprintln(w, "no daemon is running") })
		return nil
	}
	if err := signalStop(info.PID); err != nil {
		return abi.Errorf(abi.ErrInternal, "stop", "asking process %d to end: %w", info.PID, err)
	}
	err = poll(ctx, func() (bool, error) {
		_, held, err := platform.ReadLock(dirs.LockFile())
		return !held, err
	})
	if err != nil {
		return err
	}
	a.show(map[string]bool{"stopped": true}, func(w io.Writer) { fmt.Fprintf(w, "stopped process %d\n", info.PID) })
	return nil
}

// signalStop works with a daemon of any version, unlike its own protocol.
func signalStop(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Signal(os.Interrupt)
}
