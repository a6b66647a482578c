package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/control"
)

func (a *app) updateCmd() *cobra.Command {
	var p control.UpdateParams
	cmd := &cobra.Command{
		Use: "update [[NAMESPACE/]NAME...]", Short: "update installed plugins, all if none is named", Args: cobra.ArbitraryArgs,
		Long: `Brings installed plugins to the newest version of the channel that each follows. A
version that may do no more than the installed one, and tells models the same, is
installed at once. About the others one question is asked, which shows what each may
do more and what is told in other words; a person at the terminal has to agree. What
is pinned is left as it is. Without a terminal nobody can agree: then a plugin comes
to the newest version that needs no answer, and what is newer still is told with the
command that asks about it. The running daemon changes over by itself: calls that are
under way end on the version that they began with.

Exit code 3 says that somebody refused or nobody could be asked, 5 that a check of
trust failed, 1 that something else did. Whatever failed, the version that was
installed goes on.`,
		ValidArgsFunction: a.allNamed("plugins.list", "plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				if err := badRef(name); err != nil {
					return err
				}
			}
			p.Plugins, p.Unattended = args, a.terminal() == nil
			var list []host.UpdateResult
			c, err := a.daemon(cmd.Context())
			if err != nil {
				return err
			}
			c.Unattended = true // what needs nobody is updated all the same, and told
			if err := c.Call(cmd.Context(), "plugins.update", p, &list); err != nil {
				return err
			}
			if p.Unattended {
				nobodyThere(list)
			}
			a.show(updatedResult{list}, func(w io.Writer) { printUpdates(w, list) })
			a.noteUpdates(list, p.DryRun)
			return a.told(updateProblem(list, p.DryRun))
		},
	}
	cmd.Flags().BoolVar(&p.DryRun, "dry-run", false, "say what would be updated and what would be asked, and change nothing")
	return cmd
}

// nobodyThere says of what was refused that nobody could be asked.
func nobodyThere(list []host.UpdateResult) {
	for i := range list {
		if r := &list[i]; r.State == host.UpdateRefused && r.Error != nil {
			r.Error.Why = "it needs a person at a terminal, and standard input is none"
			r.Error.Hint = "drawbridge update " + r.Plugin + ", typed in a terminal"
		}
		if w := list[i].Waiting; w != nil && strings.HasPrefix(w.Hint, "drawbridge ") {
			w.Hint += ", typed in a terminal"
		}
	}
}

func printUpdates(w io.Writer, list []host.UpdateResult) {
	t := table{head: []any{"PLUGIN", "INSTALLED", "NEWEST", "CHANNEL", "STATE"}}
	for _, r := range list {
		state, newest := string(r.State), cmp.Or(r.To, r.From)
		if r.To == "" && r.Error != nil {
			newest = "-" // nobody knows
		}
		switch {
		case r.State == host.UpdateAvailable && r.Asks:
			state += ", asks"
		case r.State == host.UpdateHeld:
			state += ": pinned"
		case r.Error != nil:
			state += ": " + r.Error.Why
		}
		if r.Waiting != nil {
			state, newest = state+" ("+newest+")", r.Waiting.Version
		}
		t.row(r.Plugin, r.From, newest, r.Channel, state)
	}
	t.write(w)
}

// noteUpdates says what a person may want to do next.
func (a *app) noteUpdates(list []host.UpdateResult, dry bool) {
	a.ifNone(len(list), noneInstalled)
	for _, r := range list {
		if dry {
			for _, c := range r.Changes {
				a.note("%s %s: %s", r.Plugin, c.Kind, c)
			}
		}
		if w := r.Waiting; w != nil {
			a.note("%s %s waits: %s: %s", visible(r.Plugin), visible(w.Version), visible(w.Why), visible(w.Hint))
			for _, c := range w.Changes {
				a.note("  %s: %s", c.Kind, visible(c.String()))
			}
		}
		if r.State == host.UpdateHeld {
			a.note("%s is pinned at %s: %s lets updates change it", r.Plugin, r.From, r.Hint)
		}
	}
}

// updateProblem is the error of the first plugin that was not updated and should
// have been, else of the first whose newest version waits for a person.
func updateProblem(list []host.UpdateResult, dry bool) error {
	for _, r := range list {
		if r.Error == nil {
			continue
		}
		e := abi.Errorf(r.Error.Code, "", "%q stays at %s: %s", r.Plugin, r.From, r.Error.Why)
		e.Reason, e.Hint = r.Error.Reason, cmp.Or(r.Error.Hint, "drawbridge update "+r.Plugin)
		return e
	}
	for _, r := range list {
		if w := r.Waiting; w != nil && !dry {
			return abi.Errorf(abi.ErrConfirmationRequired, "", "%q is at %s, and %s waits: %s", r.Plugin, r.To, w.Version, w.Why).WithHint("%s", w.Hint)
		}
	}
	return nil
}

func (a *app) pinCmd() *cobra.Command {
	return a.pinning("pin", "keep a plugin at its version: updates leave it as it is", "plugins.pin",
		`Keeps a plugin at the version that is installed. Updates tell of a newer one and
leave it; what is revoked still stops. drawbridge unpin ends it.`)
}

func (a *app) unpinCmd() *cobra.Command {
	return a.pinning("unpin", "let updates change a plugin again", "plugins.unpin",
		`Lets updates change a plugin again that was pinned, by drawbridge pin or by a
rollback. A person at the terminal has to agree.`)
}

func (a *app) pinning(name, short, method, long string) *cobra.Command {
	return &cobra.Command{
		Use: name + " [NAMESPACE/]NAME", Short: short, Long: long, Args: cobra.ExactArgs(1),
		ValidArgsFunction: a.named("plugins.list", "plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			res, err := a.plugin(cmd, method, args[0])
			if err != nil {
				return err
			}
			a.show(res, func(w io.Writer) {
				if res.Pinned {
					fmt.Fprintf(w, "%s is pinned at %s\n", res.Name, res.Version)
				} else {
					fmt.Fprintf(w, "%s is at %s and follows the channel %s\n", res.Name, res.Version, res.Channel)
				}
			})
			return nil
		},
	}
}

// plugin runs a method about one installed plugin.
func (a *app) plugin(cmd *cobra.Command, method, name string) (res host.PluginInfo, err error) {
	if err := badRef(name); err != nil {
		return res, err
	}
	return res, a.call(cmd.Context(), method, control.PluginParams{Ref: name}, &res)
}

func (a *app) rollbackCmd() *cobra.Command {
	return &cobra.Command{
		Use: "rollback [NAMESPACE/]NAME", Short: "go back to the version before, and pin it", Args: cobra.ExactArgs(1),
		Long: `Makes the version before the installed one active again, and pins it, so that the
next update does not undo it. It needs no network. A person is asked if that version
may do more than the one that is active, or if that one is pinned; a version that is
revoked or was changed on the disk is refused. Rolling back twice ends where it began,
still pinned.`,
		ValidArgsFunction: a.named("plugins.list", "plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			res, err := a.plugin(cmd, "plugins.rollback", args[0])
			if err != nil {
				return err
			}
			a.show(res, func(w io.Writer) {
				fmt.Fprintf(w, "%s is at %s and pinned there: drawbridge unpin %s lets updates change it\n", res.Name, res.Version, res.Name)
			})
			return nil
		},
	}
}

func (a *app) removeCmd() *cobra.Command {
	var keep, drop bool
	cmd := &cobra.Command{
		Use: "remove [NAMESPACE/]NAME", Short: "remove an installed plugin, and its data if you say so", Args: cobra.ExactArgs(1),
		Long: `Removes a plugin. Calls that are under way end as they would have. Its data are its
settings and what its sites keep in drawbridge's own browser: cookies and stored data,
unless another plugin works on the same site. At a terminal a person is asked about
them; elsewhere they are kept. The audit log keeps what it says.`,
		ValidArgsFunction: a.named("plugins.list", "plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := badRef(args[0]); err != nil {
				return err
			}
			p := control.RemoveParams{Ref: args[0], Data: host.DataAsk}
			switch {
			case drop:
				p.Data = host.DataDelete
			case keep || a.terminal() == nil:
				p.Data = host.DataKeep
			}
			var res host.Removed
			if err := a.call(cmd.Context(), "plugins.remove", p, &res); err != nil {
				return err
			}
			a.show(res, func(w io.Writer) { printRemoved(w, res) })
			return nil
		},
	}
	cmd.Flags().BoolVar(&keep, "keep-data", false, "keep its settings and its sites' sessions, and ask nothing")
	cmd.Flags().BoolVar(&drop, "delete-data", false, "delete its settings and its sites' sessions; a person has to agree")
	cmd.MarkFlagsMutuallyExclusive("keep-data", "delete-data")
	return cmd
}

func printRemoved(w io.Writer, r host.Removed) {
	if !r.Data {
		fmt.Fprintf(w, "%s removed; its data are kept\n", r.Plugin)
		return
	}
	fmt.Fprintf(w, "%s removed with its settings, %s and the stored data of %s\n", r.Plugin, plural(r.Cookies, "cookie"), plural(len(r.Origins), "origin"))
	for _, id := range r.Kept {
		fmt.Fprintf(w, "the session of %s is kept: another plugin uses it\n", id)
	}
}
