// Command drawbridge runs signed WASM connectors in the user's own browser
// session and publishes their tools over MCP. Each file is one subcommand;
// main.go and root.go wire them, ui.go is everything that talks to a person, and
// exit.go is the table of exit codes. It refuses to decide anything itself: that
// is what package host and the packages below it do.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
)

// version is set by the build.
var version = "dev"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with its surroundings passed in.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, getenv: os.Getenv}
	return a.run(args)
}

func (a *app) run(args []string) int {
	if len(args) > 0 && args[0] == sandbox.WorkerCommand {
		return sandbox.WorkerMain(a.stdin, a.stdout, a.stderr) // the sandbox's other half: a process with nothing but one module
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if _, told := errors.AsType[*abi.Error](err); err != nil && !told && ctx.Err() != nil {
		err = errors.New("it was interrupted") // which makes errors of all kinds
	}
	if err != nil {
		a.json = a.json || errors.Is(err, errUsage) && wantsJSON(args)
		a.fail(err)
	}
	return exitCode(err)
}
