package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

// An app is one run of the command.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	worker         []string // starts a worker of the sandbox; nil is this program
	json           bool
	printed        bool  // one JSON object stands on standard output
	carried        fs.FS // what the program carries, in tests; nil is what was built into it
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "drawbridge",
		Short:         "Signed WASM connectors for the web systems you work in, over MCP",
		Long:          "Signed WASM connectors for the web systems you work in, over MCP\n\n" + surroundingsHelp(),
		Version:       version,
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}, // ours is completionCmd
	}
	root.SetVersionTemplate("drawbridge {{.Version}}\n")
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print the result, or the error, as one JSON object")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{error: err, command: cmd.CommandPath()} })
	root.AddCommand(
		a.serveCmd(), a.stopCmd(), a.mcpCmd(), a.demoCmd(), a.doctorCmd(), a.serviceCmd(), a.versionCmd(),
		a.registryCmd(), a.installCmd(), a.updateCmd(), a.pinCmd(), a.unpinCmd(), a.rollbackCmd(), a.listCmd(), a.removeCmd(),
		a.searchCmd(), a.infoCmd(), a.outdatedCmd(), a.verifyCmd(), a.lockCmd(), a.syncCmd(),
		a.toolsCmd(), a.callCmd(), a.loginCmd(), a.logoutCmd(), a.checkCmd(), a.approvalsCmd(), a.auditCmd(), a.logsCmd(), a.clientsCmd(),
		a.connectorCmd(), a.keyCmd(), a.completionCmd(), a.manCmd(),
	)
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Short = "say how a command is used"
		}
	}
	usageErrors(root)
	return root
}

// wantsJSON reports whether --json stands on a command line that may be wrong
// before it.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json")
}

// usageErrors makes wrong arguments and missing flags exit with the usage code,
// and every wrong command line name the command that it was for.
func usageErrors(c *cobra.Command) {
	c.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()); err != nil {
			return usageError{error: wrongFlags(err), command: cmd.CommandPath()}
		}
		return nil
	}
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError{error: wrongArguments(cmd, args, err), command: cmd.CommandPath()}
			}
			return nil
		}
	}
	if run := c.RunE; run != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			if u, ok := errors.AsType[usageError](err); ok {
				return u.of(cmd)
			}
			return err
		}
	}
	if !c.Runnable() && c.HasSubCommands() {
		c.Args = cobra.ArbitraryArgs
		c.RunE = subcommandOnly
	}
	for _, sub := range c.Commands() {
		usageErrors(sub)
	}
}

// subcommandOnly is what a command does that only has subcommands.
func subcommandOnly(cmd *cobra.Command, args []string) error {
	if wanted, _ := cmd.Flags().GetBool("json"); len(args) == 0 && wanted {
		return usageError{error: fmt.Errorf("%s needs a subcommand", cmd.CommandPath()), command: cmd.CommandPath()}
	}
	if len(args) == 0 {
		return cmd.Help()
	}
	u := usageError{error: fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath()), command: cmd.CommandPath()}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		u.meant = cmd.CommandPath() + " " + near[0]
	}
	return u
}

// The library's words about flags.
var (
	flagsMissing  = regexp.MustCompile(`^required flag\(s\) (.*) not set$`)
	flagsExclude  = regexp.MustCompile(`^if any flags in the group \[.*\] are set none of the others can be; \[(.*)\] were all set$`)
	flagsOneAtAll = regexp.MustCompile(`^at least one of the flags in the group \[(.*)\] is required$`)
)

// wrongFlags says which flags are missing or too many, as they are typed.
func wrongFlags(err error) error {
	var said []string
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		flags := func(m []string) string {
			names := strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune(`", `, r) })
			slices.Sort(names)
			return "--" + strings.Join(names, " and --")
		}
		if m := flagsMissing.FindStringSubmatch(line); m != nil {
			line = flags(m) + " is needed"
			if strings.Contains(line, " and ") {
				line = flags(m) + " are needed"
			}
		} else if m := flagsExclude.FindStringSubmatch(line); m != nil {
			line = flags(m) + " exclude each other"
		} else if m := flagsOneAtAll.FindStringSubmatch(line); m != nil {
			line = "one of " + flags(m) + " is needed"
		}
		said = append(said, line)
	}
	return errors.New(strings.Join(said, "; "))
}

// wrongArguments says what a command takes in place of how many.
func wrongArguments(cmd *cobra.Command, args []string, err error) error {
	takes := strings.TrimSpace(strings.TrimPrefix(cmd.Use, cmd.Name()))
	switch {
	case cmd.ValidArgs != nil && len(args) == 1: // one that is none of these
		return err
	case takes == "":
		return fmt.Errorf("%s takes no arguments, and %q was given", cmd.CommandPath(), args)
	}
	return fmt.Errorf("%s takes %s, and %d of these were given", cmd.CommandPath(), takes, len(args))
}

func (a *app) dirs() (platform.Dirs, error) {
	d, err := platform.NewDirs(a.getenv)
	if err != nil {
		return d, err
	}
	return d, d.Create()
}

// daemon returns a client of the running daemon, and starts one if there is none.
func (a *app) daemon(ctx context.Context) (*control.Client, error) {
	dirs, err := a.dirs()
	if err != nil {
		return nil, err
	}
	info, err := a.ensureDaemon(ctx, dirs)
	if err != nil {
		return nil, err
	}
	return &control.Client{
		Dial: func(ctx context.Context) (net.Conn, error) { return platform.Dial(ctx, info.Socket) },
		Ask:  a.ask, Progress: a.progress, Waiting: a.waiting, Surroundings: a.surroundings(),
	}, nil
}

// call runs one method of the daemon.
func (a *app) call(ctx context.Context, method string, params, result any) error {
	c, err := a.daemon(ctx)
	if err != nil {
		return err
	}
	return c.Call(ctx, method, params, result)
}

// waiting tells whoever made a call that a person has to decide about it, also
// with --json: without it the command would just stand still.
func (a *app) waiting(w control.Waiting) {
	fmt.Fprintf(a.stderr, "%s waits for a person (%s): run drawbridge approvals in another terminal\n", redact.Visible(w.Tool), redact.Visible(w.ID))
}

func (a *app) progress(p control.Progress) {
	switch {
	case p.Passing:
		a.passing(p)
	case p.Message != "":
		a.note("%s", p.Message)
	case p.Total > 0:
		a.note("%.0f of %.0f", p.Done, p.Total)
	}
}

// passing shows what is true for a moment, on a terminal alone.
func (a *app) passing(p control.Progress) {
	f, ok := a.stderr.(*os.File)
	if a.json || !ok || !term.IsTerminal(int(f.Fd())) {
		return
	}
	end := ""
	if p.Done >= p.Total {
		end = "\n"
	}
	fmt.Fprintf(a.stderr, "\r%s: %.0f %%%s", redact.Visible(p.Message), p.Done/p.Total*100, end)
}

// executable is this program, which is also the daemon and the worker.
func executable() (string, error) { return os.Executable() }
