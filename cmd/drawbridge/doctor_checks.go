package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
	"github.com/drawbridge-mcp/drawbridge/host/clientconfig"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// checkFiles looks whether anybody else may read or write what drawbridge keeps:
// tokens' hashes, keys, settings, logs, and the socket that commands use.
func checkFiles(dirs platform.Dirs) []finding {
	var found []finding
	for _, path := range []string{
		dirs.ClientsFile(), dirs.SettingsFile(), dirs.AuditKey(), dirs.AuditLog(), dirs.LockFile(), dirs.LogFile(), dirs.Journal(),
		filepath.Join(dirs.Data(), "lock.json"), filepath.Join(dirs.Data(), "market.key"),
	} {
		if err := platform.CheckFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			found = append(found, verdict("file", "", err))
		}
	}
	if info, err := os.Lstat(dirs.Socket()); err == nil && info.Mode().Perm()&0o077 != 0 {
		err := abi.Errorf(abi.ErrForbidden, "", "the socket %q may be used by others (mode %04o)", dirs.Socket(), info.Mode().Perm()).
			WithHint("chmod 600 %s", platform.ShellQuote(dirs.Socket()))
		found = append(found, verdict("file", "", err))
	}
	if len(found) == 0 {
		found = append(found, verdict("files", "only their owner may read them", nil))
	}
	return found
}

// checkDaemon looks at the daemon's lock, whether it answers, and at its port.
func (a *app) checkDaemon(ctx context.Context, dirs platform.Dirs) []finding {
	info, held, err := platform.ReadLock(dirs.LockFile())
	if err != nil {
		return []finding{verdict("daemon", "", err)}
	}
	found := checkOthers(dirs, info, held)
	if !held {
		return append(found, verdict("daemon", idleDetail(dirs), nil), a.checkPort(ctx))
	}
	if err := a.sameVersion(info); err != nil {
		return append(found, verdict("daemon", "", err))
	}
	var st control.Status
	if err := daemonStatus(ctx, info, &st); err != nil {
		return append(found, verdict("daemon", "", err))
	}
	found = append(found, verdict("daemon", fmt.Sprintf("process %d, MCP at http://%s/mcp, %d tools", st.PID, st.HTTP, st.Tools), nil))
	plugins := make([]string, 0, len(st.Problem))
	for name := range st.Problem {
		plugins = append(plugins, name)
	}
	slices.Sort(plugins)
	for _, name := range plugins {
		p := st.Problem[name]
		found = append(found, finding{Check: "plugin " + name, Detail: p.Message, Hint: p.Hint, Code: p.Code, Reason: p.Reason})
	}
	return append(found, checkConnectors(ctx, info)...)
}

// checkConnectors tells what the daemon knows of its connectors; drawbridge check
// looks.
func checkConnectors(ctx context.Context, info platform.LockInfo) []finding {
	var list []host.ConnectorHealth
	if err := askDaemon(ctx, info, "health.list", &list); err != nil {
		return []finding{verdict("connectors", "", err)}
	}
	var found []finding
	for _, c := range list {
		f := finding{Check: "connector " + c.Connector, OK: c.Error == nil, Detail: healthDetail(c)}
		if c.Error != nil {
			f.Hint, f.Code = c.Error.Hint, c.Error.Code
		}
		found = append(found, f)
	}
	return found
}

// doctorPatience is how long a daemon may take to say how it is.
const doctorPatience = 10 * time.Second

// askDaemon asks the daemon that holds the lock, and starts none.
func askDaemon(ctx context.Context, info platform.LockInfo, method string, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	c := &control.Client{Dial: func(ctx context.Context) (net.Conn, error) { return platform.Dial(ctx, info.Socket) }}
	return c.Call(ctx, method, struct{}{}, answer)
}

// idleDetail says that no daemon runs, and whether the last one was killed: what
// it left in its lock file is nobody's lock.
func idleDetail(dirs platform.Dirs) string {
	detail := "not running; the first command starts it"
	if info, err := os.Stat(dirs.LockFile()); err == nil && info.Size() > 0 {
		detail += " (the last one was killed; what it left behind means nothing)"
	}
	return detail
}

// checkOthers finds daemons that serve these directories beside the one that
// holds the lock: the lock file was removed under them.
func checkOthers(dirs platform.Dirs, info platform.LockInfo, held bool) []finding {
	list, err := platform.OwnProcesses(func(args []string) bool {
		return len(args) > 1 && slices.Contains(args[1:], "serve") && strings.Contains(filepath.Base(args[0]), "drawbridge")
	})
	if err != nil {
		return []finding{verdict("daemons", "", err)}
	}
	var found []finding
	for _, p := range list {
		of, err := platform.NewDirs(func(name string) string { return p.Env[name] })
		if err != nil || of.LockFile() != dirs.LockFile() || held && p.PID == info.PID {
			continue
		}
		err = abi.Errorf(abi.ErrUnsupportedAction, "", "process %d serves the same directories and does not hold their lock: its lock file was removed", p.PID).
			WithHint("kill %d", p.PID)
		found = append(found, verdict("second daemon", "", err))
	}
	return found
}

// checkPort looks whether the daemon could listen.
func (a *app) checkPort(ctx context.Context) finding {
	port, err := a.port()
	if err != nil {
		return verdict("port", "", err)
	}
	if port == 0 {
		return verdict("port", "any that is free", nil)
	}
	if err := canListen(ctx, port); err != nil {
		err = abi.Errorf(abi.ErrUnsupportedAction, "", "another program has port %d of 127.0.0.1: %w", port, err).
			WithHint("export %s=%d", httpPortVar, freePort(ctx, port+1))
		return verdict("port", "", err)
	}
	return verdict("port", fmt.Sprintf("%d is free", port), nil)
}

func canListen(ctx context.Context, port int) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}

// freePort looks for a port from one on; 0, which is any, if there is none near.
func freePort(ctx context.Context, from int) int {
	for port := from; port < min(from+100, 1<<16); port++ {
		if canListen(ctx, port) == nil {
			return port
		}
	}
	return 0
}

// checkTrust looks at the registries' snapshots and at the clock that they are
// judged by.
func checkTrust(ctx context.Context, dirs platform.Dirs) []finding {
	now := time.Now()
	own, err := carried(carriedFiles)
	if err != nil {
		return []finding{verdict("registries", "", err)}
	}
	client, err := registry.New(registry.Config{Dir: dirs.Data(), Builtin: own})
	if err != nil {
		return []finding{verdict("registries", "", err)}
	}
	list, err := client.Registries()
	found := append(checkDamage(dirs, err), checkRemoved(client)...)
	clock := checkClock(ctx, dirs, now)
	for _, r := range list {
		switch {
		case now.Before(r.NotBefore()):
			clock = verdict("clock", "", clockFault(now, fmt.Sprintf("the snapshot of registry %q is from %s or later", r.ID, r.NotBefore().Local().Format(time.DateTime))))
		case r.Builtin:
			found = append(found, verdict("registry "+r.ID, fmt.Sprintf("snapshot %d, carried by this program", r.Snapshot), nil))
		case !now.Before(r.Expires):
			err := abi.Errorf(abi.ErrUntrusted, "", "snapshot %d of registry %q expired at %s: nothing new can be installed from it until there is a newer one, which its maintainer signs", r.Snapshot, r.ID, r.Expires.Local().Format(time.DateTime)).
				WithHint("%s", registry.RenewHint(r.ID))
			found = append(found, verdict("registry "+r.ID, "", err))
		default:
			found = append(found, verdict("registry "+r.ID, snapshotDetail(r, now), nil))
		}
	}
	return append([]finding{clock}, found...)
}

// checkDamage tells of each registry whose state can't be read. Out of the way, it
// is a registry that was not added.
func checkDamage(dirs platform.Dirs, err error) []finding {
	if err == nil {
		return nil
	}
	var found []finding
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		f := verdict("registries", "", err)
		if d, ok := errors.AsType[*registry.DamagedError](err); ok {
			aside := filepath.Join(dirs.Data(), filepath.Base(d.Dir)+".damaged")
			f.Detail += ": add the registry again when it is out of the way"
			f.Hint = "mv " + platform.ShellQuote(d.Dir) + " " + platform.ShellQuote(aside)
		}
		found = append(found, f)
	}
	return found
}

// maxClockSkew is how far a row of the audit log may lie ahead of the clock.
const maxClockSkew = 10 * time.Minute

// checkClock compares the clock with the newest thing that was written down.
func checkClock(ctx context.Context, dirs platform.Dirs, now time.Time) finding {
	detail := now.Format(time.DateTime)
	log, err := audit.OpenReader(ctx, auditOptions(dirs))
	if err != nil {
		return verdict("clock", detail, nil) // nothing was written down yet
	}
	defer func() { _ = log.Close() }()
	last, err := log.List(ctx, audit.Filter{Limit: 1})
	if err == nil && len(last) == 1 && last[0].At.After(now.Add(maxClockSkew)) {
		return verdict("clock", "", clockFault(now, "the last row of the audit log is of "+last[0].At.Local().Format(time.DateTime)))
	}
	return verdict("clock", detail, nil)
}

func clockFault(now time.Time, because string) error {
	return abi.Errorf(abi.ErrUntrusted, "", "the clock shows %s, and %s: it is wrong", now.Format(time.DateTime), because).
		WithHint("%s", clockHint(runtime.GOOS))
}

func clockHint(goos string) string {
	switch goos {
	case "darwin":
		return "sudo sntp -sS time.apple.com"
	case "windows":
		return "w32tm /resync"
	}
	return "sudo timedatectl set-ntp true"
}

// checkClients looks whether the MCP clients that know drawbridge start this one.
func (a *app) checkClients() []finding {
	exe, err := executable()
	if err != nil {
		return []finding{verdict("clients", "", err)}
	}
	var found []finding
	for _, c := range clientconfig.Clients() {
		file := c.File(a.environment())
		_, text, _, err := readClientFile(file)
		if file == "" || err != nil || text == nil {
			continue // it is not in use here
		}
		entry, ok := c.Entry(string(text))
		switch damage := c.Damaged(string(text)); {
		case damage != nil:
			err = abi.Errorf(abi.ErrInvalidArgs, "", "%q can't be read, by %s neither: %w", file, c.Title, damage)
		case !ok || entry.Command == "":
			continue
		default:
			err = a.checkEntry(c, file, entry, exe)
		}
		if fault, ok := errors.AsType[*abi.Error](err); ok {
			err = fault.WithHint("%s", a.mendClient(c, string(text)))
		}
		found = append(found, verdict("client "+c.ID, entry.Command, err))
	}
	return found
}

// mendClient is the command that puts the right entry in the place of the wrong
// one: ours where it can, and otherwise the client's own.
func (a *app) mendClient(c clientconfig.Client, text string) string {
	e, err := a.serverEntry(c.ID)
	if err == nil {
		_, err = c.Put(text, e)
	}
	if refused, ok := errors.AsType[*abi.Error](err); ok && refused.Hint != "" {
		return refused.Hint
	}
	return "drawbridge mcp --print-config " + c.ID + " --write"
}

// checkEntry compares what a client starts with this program, and with how this
// one would be started.
func (a *app) checkEntry(c clientconfig.Client, file string, e clientconfig.Entry, exe string) error {
	path, err := exec.LookPath(e.Command)
	home := e.Env[platform.HomeVar]
	switch {
	case err != nil:
		return abi.Errorf(abi.ErrNotFound, "", "%q makes %s start %q, which can't be run: %w", file, c.Title, e.Command, err)
	case !sameFile(path, exe):
		return abi.Errorf(abi.ErrUnsupportedAction, "", "%q makes %s start %q, and this is %q", file, c.Title, path, exe)
	case len(e.Args) == 0 || e.Args[0] != "mcp":
		return abi.Errorf(abi.ErrUnsupportedAction, "", "%q makes %s start drawbridge with %q, and not with \"mcp\": it gets no MCP server", file, c.Title, e.Args)
	case home != "" && home != a.getenv(platform.HomeVar):
		return abi.Errorf(abi.ErrUnsupportedAction, "", "%q makes %s use the home %q, which is another than this command's", file, c.Title, home)
	}
	return nil
}
