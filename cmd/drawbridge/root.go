package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// An app is one run of the command.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	worker         []string // starts a worker of the sandbox; nil is this program
	json           bool
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "drawbridge",
		Short:         "Signed WASM connectors for the web systems you work in, over MCP",
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print results and errors as JSON")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		a.serveCmd(), a.stopCmd(), a.mcpCmd(), a.demoCmd(), a.doctorCmd(), a.versionCmd(),
		a.registryCmd(), a.installCmd(), a.listCmd(), a.removeCmd(), a.searchCmd(),
		a.toolsCmd(), a.callCmd(), a.loginCmd(), a.checkCmd(), a.approvalsCmd(), a.auditCmd(), a.clientsCmd(),
		a.connectorCmd(), a.keyCmd(),
	)
	usageErrors(root)
	return root
}

// usageErrors makes wrong arguments and missing flags exit with the usage code.
func usageErrors(c *cobra.Command) {
	c.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := cmd.ValidateRequiredFlags(); err != nil {
			return usageError{err}
		}
		return nil
	}
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError{err}
			}
			return nil
		}
	}
	if !c.Runnable() && c.HasSubCommands() {
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{errors.New("unknown command \"" + args[0] + "\" for \"" + cmd.CommandPath() + "\"")}
			}
			return cmd.Help()
		}
	}
	for _, sub := range c.Commands() {
		usageErrors(sub)
	}
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
		Ask:  a.ask, Progress: a.progress,
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

func (a *app) progress(p control.Progress) {
	switch {
	case p.Message != "":
		a.note("%s", p.Message)
	case p.Total > 0:
		a.note("%.0f of %.0f", p.Done, p.Total)
	}
}

// executable is this program, which is also the daemon and the worker.
func executable() (string, error) { return os.Executable() }
