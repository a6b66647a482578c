package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
)

// A finding is one thing that doctor looked at.
type finding struct {
	Check  string
	OK     bool
	Detail string
	Hint   string     // the command that mends it
	Code   abi.Code   // of a fault; untrusted is what drawbridge verify would end with
	Reason abi.Reason // of an untrusted one
}

func (f finding) result() checkResult {
	if f.OK {
		return checkResult{Check: f.Check, OK: true, Detail: f.Detail}
	}
	return checkResult{Check: f.Check, Error: &control.Error{Code: f.Code, Reason: f.Reason, Message: f.Detail, Hint: f.Hint}}
}

func (a *app) doctorCmd() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "look for what can be wrong, and say which command mends it", Args: cobra.NoArgs,
		Long: `Looks at the browser, Git, the files that drawbridge keeps, the daemon and its port,
the clock, the registries' snapshots and whether they answer, every installed byte,
and what MCP clients are configured to start. It starts and changes nothing; it ends
with 5 if a signature, hash or trust check refuses something, as drawbridge verify
does, and with 1 if it finds another fault alone.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := a.examine(cmd.Context())
			bad := 0
			for _, f := range found {
				if !f.OK {
					bad++
				}
			}
			checks := make([]checkResult, len(found))
			for i, f := range found {
				checks[i] = f.result()
			}
			a.show(doctorResult{checks}, func(w io.Writer) { printFindings(w, found) })
			return a.sayFaults(bad, found)
		},
	}
}

// sayFaults is how doctor ends. With --json the list says what is wrong.
func (a *app) sayFaults(bad int, found []finding) error {
	untrusted := slices.ContainsFunc(found, func(f finding) bool { return f.Code == abi.ErrUntrusted })
	text := fmt.Sprintf("%d of %d checks found a fault", bad, len(found))
	switch {
	case bad == 0:
		return nil
	case a.json && untrusted:
		return errSaidUntrusted
	case a.json:
		return errSaid
	case untrusted:
		return abi.Errorf(abi.ErrUntrusted, "", "%s", text)
	}
	return errors.New(text)
}

func printFindings(w io.Writer, found []finding) {
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
}

// examine runs the checks in the order in which things are needed. It starts
// nothing.
func (a *app) examine(ctx context.Context) []finding {
	found := []finding{checkSystem(), a.checkBrowser(ctx), checkGit(ctx)}
	dirs, f := a.checkDirs()
	found = append(found, f)
	if f.OK {
		found = append(found, checkFiles(dirs)...)
		found = append(found, a.checkDaemon(ctx, dirs)...)
		found = append(found, checkTrust(ctx, dirs)...)
		found = append(found, checkMarket(ctx, dirs, found)...)
	}
	return append(found, a.checkClients()...)
}

// verdict is what a check came to.
func verdict(check, detail string, err error) finding {
	if err == nil {
		return finding{Check: check, OK: true, Detail: detail}
	}
	f := finding{Check: check, Detail: err.Error(), Code: abi.ErrInternal}
	if e, ok := errors.AsType[*abi.Error](err); ok {
		f.Code, f.Reason, f.Hint = e.Code, e.Reason, e.Hint
	}
	if errors.Is(err, abi.ErrUntrusted) {
		f.Code = abi.ErrUntrusted
	}
	return f
}

func checkSystem() finding {
	detail := runtime.GOOS + "/" + runtime.GOARCH
	has, lacks := sandbox.Confinement()
	switch {
	case runtime.GOOS != "linux":
		detail += ": a connector's process has no memory or CPU limit of the system's own here, only the deadline, and nothing of the system's keeps it from files and the network but WebAssembly"
	case len(lacks) > 0:
		detail += ": this kernel has no " + strings.Join(lacks, " and no ") + " to keep a connector's process from files and the network, if it broke out of WebAssembly"
	default:
		detail += ": connectors' processes are confined by " + strings.Join(has, " and ")
	}
	return verdict("system", detail, nil)
}

// checkBrowser finds the browser, runs it for its version, and compares that; or
// it finds the one of the user's that is to be attached to.
func (a *app) checkBrowser(ctx context.Context) finding {
	if v := a.getenv(attachVar); v != "" {
		o, err := checkAttach(attachFrom(v))
		if err != nil {
			return verdict("browser", "", err)
		}
		e, err := o.Endpoint()
		if err == nil {
			err = listens(ctx, e.URL())
		}
		return verdict("browser", "yours, attached at "+e.URL(), err)
	}
	path, err := browser.Find()
	if err != nil {
		return verdict("browser", "", err)
	}
	text, _, err := browser.Version(ctx, path)
	return verdict("browser", path+", "+text, err)
}

// listens looks whether anything listens where a browser should. It says nothing
// to it: the browser would ask its user.
func listens(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return abi.Errorf(abi.ErrBrowserGone, "", "no browser listens at %q: %w", address, err).
			WithHint("chromium --remote-debugging-port=0 --user-data-dir=DIR, and %s=DIR", attachVar)
	}
	return conn.Close()
}

func checkGit(ctx context.Context) finding {
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		err = abi.Errorf(abi.ErrUnsupportedAction, "git", "git does not run: %w", err).WithHint("%s", gitHint(runtime.GOOS))
	}
	return verdict("git", strings.TrimSpace(string(out)), err)
}

func gitHint(goos string) string {
	switch goos {
	case "darwin":
		return "xcode-select --install"
	case "windows":
		return "winget install --id Git.Git"
	}
	return "sudo apt-get install git"
}

func (a *app) checkDirs() (platform.Dirs, finding) {
	d, err := a.dirs()
	return d, verdict("directories", "only their owner may enter them", err)
}
