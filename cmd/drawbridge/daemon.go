package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/control"
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
		if err := a.sameVersion(info); err != nil {
			return info, err
		}
		return info, daemonStatus(ctx, info, &control.Status{}) // nothing waits for one that hangs
	}
	exe, err := executable()
	if err != nil {
		return info, err
	}
	said := fileSize(dirs.LogFile())
	d, err := platform.Start(ctx, platform.Command{
		Path: exe, Args: []string{"serve", "--quiet"}, Env: daemonEnv(), Log: dirs.LogFile(),
	})
	if err != nil {
		return info, err
	}
	info, err = a.awaitDaemon(ctx, dirs, d)
	if errors.Is(err, errEnded) {
		return info, lastWords(dirs.LogFile(), said, d.Err())
	}
	return info, err
}

// errEnded says that the daemon that was started has ended, and no other is there.
var errEnded = errors.New("the daemon ended")

// awaitDaemon waits until the daemon's lock file names its socket. Two commands
// that start one at the same time both get the one that won.
func (a *app) awaitDaemon(ctx context.Context, dirs platform.Dirs, d *platform.Detached) (platform.LockInfo, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	running, over := d.Done(), false
	for {
		info, held, err := platform.ReadLock(dirs.LockFile())
		switch {
		case err == nil && held && info.Socket != "":
			return info, a.sameVersion(info)
		case over && !held: // the lock was read after the end: nobody else is about to answer
			return info, errEnded
		}
		select {
		case <-running:
			running, over = nil, true
		case <-tick.C:
		case <-ctx.Done():
			return info, abi.Errorf(abi.ErrTimeout, "daemon", "the daemon does not answer: %w", ctx.Err()).WithHint("see %s", dirs.LogFile())
		}
	}
}

// daemonStatus asks a daemon how it is, which also says that it does not hang.
func daemonStatus(ctx context.Context, info platform.LockInfo, st *control.Status) error {
	if err := askDaemon(ctx, info, "status", st); err != nil {
		return abi.Errorf(abi.ErrTimeout, "", "process %d holds the daemon's lock and does not answer: %w", info.PID, err).
			WithHint("drawbridge stop || kill -9 %d", info.PID)
	}
	return nil
}

// fileSize is the size of a file, 0 if there is none.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// maxLastWords is how much of the end of a daemon's log is looked at.
const maxLastWords = 16 << 10

// lastWords makes an error of what a daemon that ended at once said after the
// first from bytes of the file that its standard error goes to.
func lastWords(path string, from int64, cause error) error {
	hint := "see " + path
	said := cause.Error()
	if f, err := os.Open(path); err == nil {
		text, _ := io.ReadAll(io.NewSectionReader(f, max(from, fileSize(path)-maxLastWords), maxLastWords)) // what can be read
		_ = f.Close()
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if v, ok := strings.CutPrefix(line, errorPrefix); ok {
				said = v
			} else if v, ok := strings.CutPrefix(line, hintPrefix); ok {
				hint = v
			}
		}
	}
	return abi.Errorf(abi.ErrInternal, "daemon", "the daemon ended at once: %s", said).WithHint("%s", hint)
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
		httpPortVar, attachVar, logLevelVar, refreshVar,
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
		a.show(stopResult{false}, func(w io.Writer) { fmt.Fprintln(w, "no daemon is running") })
		return nil
	}
	if err := signalStop(info.PID); err != nil {
		return abi.Errorf(abi.ErrInternal, "stop", "asking process %d to end: %w", info.PID, err)
	}
	err = poll(ctx, func() (bool, error) {
		_, held, err := platform.ReadLock(dirs.LockFile())
		return !held, err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return abi.Errorf(abi.ErrTimeout, "stop", "process %d has not ended, %s after it was asked to", info.PID, startTimeout).WithHint("kill -9 %d", info.PID)
	}
	if err != nil {
		return err
	}
	a.show(stopResult{true}, func(w io.Writer) { fmt.Fprintf(w, "stopped process %d\n", info.PID) })
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
