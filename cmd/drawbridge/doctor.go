package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// A finding is one thing that doctor looked at.
type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"` // the command that mends it
}

func (a *app) doctorCmd() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "look for what can be wrong, and say which command mends it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := a.examine(cmd.Context())
			bad := 0
			for _, f := range found {
				if !f.OK {
					bad++
				}
			}
			a.show(found, func(w io.Writer) {
				for _, f := range found {
					mark := "ok"
					if !f.OK {
						mark = "FAULT"
					}
					row(w, mark, f.Check, f.Detail)
					if f.Hint != "" {
						row(w, "", "", "hint: "+f.Hint)
					}
				}
			})
			if bad > 0 {
				return fmt.Errorf("%d of %d checks found a fault", bad, len(found))
			}
			return nil
		},
	}
}

// examine runs the checks in the order in which things are needed. It starts
// nothing.
func (a *app) examine(ctx context.Context) []finding {
	found := []finding{checkSystem(), checkBrowser(), checkGit(ctx)}
	dirs, f := a.checkDirs()
	found = append(found, f)
	if !f.OK {
		return found
	}
	return append(found, a.checkDaemon(ctx, dirs)...)
}

func verdict(check, detail string, err error) finding {
	if err == nil {
		return finding{Check: check, OK: true, Detail: detail}
	}
	f := finding{Check: check, Detail: err.Error()}
	if e, ok := errors.AsType[*abi.Error](err); ok {
		f.Hint = e.Hint
	}
	return f
}

func checkSystem() finding {
	detail := runtime.GOOS + "/" + runtime.GOARCH
	if runtime.GOOS != "linux" {
		detail += ": a connector's process has no memory or CPU limit of the system's own here, only the deadline"
	}
	return verdict("system", detail, nil)
}

func checkBrowser() finding {
	path, err := browser.Find()
	return verdict("browser", path, err)
}

func checkGit(ctx context.Context) finding {
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		err = abi.Errorf(abi.ErrUnsupportedAction, "git", "git does not run: %w", err).WithHint("apt-get install git")
	}
	return verdict("git", strings.TrimSpace(string(out)), err)
}

func (a *app) checkDirs() (platform.Dirs, finding) {
	d, err := a.dirs()
	return d, verdict("directories", "only their owner may enter them", err)
}

func (a *app) checkDaemon(ctx context.Context, dirs platform.Dirs) []finding {
	info, held, err := platform.ReadLock(dirs.LockFile())
	if err != nil {
		return []finding{verdict("daemon", "", err)}
	}
	if !held {
		return []finding{verdict("daemon", "not running; the first command starts it", nil)}
	}
	if err := a.sameVersion(info); err != nil {
		return []finding{verdict("daemon", "", err)}
	}
	var st control.Status
	if err := a.call(ctx, "status", struct{}{}, &st); err != nil {
		return []finding{verdict("daemon", "", err)}
	}
	found := []finding{verdict("daemon", fmt.Sprintf("process %d, MCP at http://%s/mcp, %d tools", st.PID, st.HTTP, st.Tools), nil)}
	for name, e := range st.Problem {
		found = append(found, finding{Check: "plugin " + name, Detail: e.Message, Hint: e.Hint})
	}
	return append(found, a.checkConnectors(ctx)...)
}

// checkConnectors tells what the daemon knows of its connectors; drawbridge check
// looks.
func (a *app) checkConnectors(ctx context.Context) []finding {
	var list []host.ConnectorHealth
	if err := a.call(ctx, "health.list", struct{}{}, &list); err != nil {
		return []finding{verdict("connectors", "", err)}
	}
	var found []finding
	for _, c := range list {
		f := finding{Check: "connector " + c.Connector, OK: c.Error == nil, Detail: healthDetail(c)}
		if c.Error != nil {
			f.Hint = c.Error.Hint
		}
		found = append(found, f)
	}
	return found
}
