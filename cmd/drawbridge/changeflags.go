package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// changeFlags are the flags of commands that change a registry: who signs, and
// whether the change may wait for other people's signatures.
type changeFlags struct {
	signerFlags
	partial bool
}

func (c *changeFlags) register(a *app, cmd *cobra.Command) {
	c.signerFlags.register(a, cmd)
	cmd.Flags().BoolVar(&c.partial, "partial", false, "where other keys have to sign too, put the change aside for drawbridge registry sign")
}

// do makes one change to the registry in dir and says what was done, or what it
// waits for.
func (c *changeFlags) do(ctx context.Context, a *app, dir, done string, change func(*registry.Maintainer, registry.Keys) error) error {
	m, err := maintainer(dir) // before anybody types a passphrase
	if err != nil {
		return err
	}
	keys, _, err := c.keys(ctx, a)
	if err != nil {
		return err
	}
	if c.partial {
		m = m.Partial()
	}
	if err := change(m, keys); err != nil {
		return inRegistry(err, dir)
	}
	out := changed{Dir: dir, Done: done}
	if p, err := m.Pending(ctx); c.partial && err == nil {
		out.Pending = &p
	}
	a.show(out, func(w io.Writer) {
		if out.Pending != nil {
			printPending(w, dir, *out.Pending)
			return
		}
		row(w, done)
	})
	if out.Pending == nil || out.Pending.Complete {
		a.nextPush(dir)
	}
	return nil
}

// nextPush says what brings a change of a registry to its users.
func (a *app) nextPush(dir string) {
	a.note("next: drawbridge registry push %s URL", platform.ShellQuote(dir))
}

// placeOfDir is where a hint wants the registry's directory.
var placeOfDir = regexp.MustCompile(`\b(drawbridge registry [a-z-]+) DIR\b`)

// inRegistry is err with the registry's directory in its hint, which doesn't know it.
func inRegistry(err error, dir string) error {
	if e, ok := errors.AsType[*abi.Error](err); ok {
		e.Hint = placeOfDir.ReplaceAllString(e.Hint, "$1 "+strings.ReplaceAll(platform.ShellQuote(dir), "$", "$$"))
	}
	return err
}

// maintainer opens the registry in a folder that has a repository.
func maintainer(dir string) (*registry.Maintainer, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	m := registry.OpenMaintainer(abs, nil)
	return m, m.Exists()
}

// printPending says what a change would do, and whose signatures it waits for.
func printPending(w io.Writer, dir string, p registry.PendingChange) {
	if p.Complete {
		fmt.Fprintln(w, "signed by all who have to, and in force:")
	} else {
		fmt.Fprintln(w, "put aside, and not in force before others have signed:")
	}
	printChanges(w, "  ", p.Changes)
	for _, m := range p.Missing {
		row(w, fmt.Sprintf("  %s has %d of %d signatures; missing, any of:", m.Path, m.Signed, m.Need))
		for _, k := range m.Keys {
			row(w, fmt.Sprintf("    drawbridge registry sign %s --key %s", dir, k))
		}
	}
}

func printChanges(w io.Writer, indent string, changes []registry.Change) {
	for _, c := range changes {
		text := indent + string(c.Kind) + ": " + c.Subject
		if c.Detail != "" {
			text += " (" + c.Detail + ")"
		}
		row(w, text)
	}
}
