package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

func (a *app) searchCmd() *cobra.Command {
	var q host.SearchQuery
	cmd := &cobra.Command{
		Use: "search [WORD]...", Short: "search the trusted registries by name, description, tool or host", Args: cobra.ArbitraryArgs,
		Long: `Lists the connectors of the trusted registries in which every word is found: in the
name first, then in the title, the tools and the descriptions. A word that is a host
or an address, such as jira.example.com, finds what works with it. Without words all
connectors are listed. Only releases whose signatures hold are shown.

What was fetched in the last ten minutes isn't fetched again, unless nothing is found.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Text = strings.Join(args, " ")
			var res host.SearchResult
			if err := a.call(cmd.Context(), "plugins.search", q, &res); err != nil {
				return err
			}
			a.show(res, func(w io.Writer) {
				if len(res.Found) > 0 {
					printFound(w, res.Found, q.All || q.Category != "")
				}
			})
			return a.noteSearch(cmd.Context(), res)
		},
	}
	cmd.Flags().StringVar(&q.Registry, "registry", "", "only in this registry")
	cmd.Flags().StringVar(&q.Host, "host", "", "only what works with this host or address")
	cmd.Flags().StringVar(&q.Tool, "tool", "", "only what has a tool whose name or title contains this")
	cmd.Flags().StringVar(&q.Category, "category", "", "another kind than connector: "+strings.Join(categories()[1:], ", "))
	cmd.Flags().BoolVar(&q.All, "all", false, "every kind of plugin")
	cmd.Flags().BoolVar(&q.Refresh, "refresh", false, "ask the registries for what is new first")
	cmd.MarkFlagsMutuallyExclusive("all", "category")
	_ = cmd.RegisterFlagCompletionFunc("registry", a.flagNamed("registries.list", "registry"))    // the flag exists
	_ = cmd.RegisterFlagCompletionFunc("category", cobra.FixedCompletions(categories(), noFiles)) // likewise
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return nil, noFiles }
	return cmd
}

func categories() []string {
	return []string{
		string(abi.CategoryConnector), string(abi.CategoryPipelineNode), string(abi.CategoryMCPServer), string(abi.CategoryTool), string(abi.CategoryOther),
	}
}

// printFound prints one line for each plugin that was found.
func printFound(w io.Writer, list []host.FoundPlugin, kinds bool) {
	head := []any{"PLUGIN", "VERSION", "REGISTRY", "TOOLS", "TITLE", "INSTALLED"}
	if kinds {
		head = append(head, "CATEGORY")
	}
	row(w, head...)
	for _, p := range list {
		version := p.Version
		if p.Channel != string(registry.Stable) {
			version += " (" + p.Channel + ")"
		}
		cells := []any{p.Name, version, p.Registry, countTools(p), p.Title, p.Installed}
		if kinds {
			cells = append(cells, p.Category)
		}
		row(w, cells...)
	}
}

func countTools(p host.FoundPlugin) string {
	n := 0
	for _, t := range p.Tools {
		if t.Destructive {
			n++
		}
	}
	switch {
	case len(p.Tools) == 0:
		return "none"
	case n == 0:
		return fmt.Sprintf("%d, read only", len(p.Tools))
	default:
		return fmt.Sprintf("%d, %d change data", len(p.Tools), n)
	}
}

// noteSearch says what else there is to know.
func (a *app) noteSearch(ctx context.Context, res host.SearchResult) error {
	if len(res.Found) == 0 && !a.json {
		if err := a.noteNothingFound(ctx); err != nil {
			return err
		}
	}
	if res.More > 0 {
		a.note("%d more are found: search for more words", res.More)
	}
	for _, r := range res.Refused {
		a.note("refused: %s (%s): %s", r.Plugin, r.Error.Reason, visible(r.Error.Why))
	}
	for _, p := range res.Warnings {
		a.note("warning: %s", visible(p))
	}
	for _, p := range res.Problems {
		a.note("not searched: %s", visible(p.Why))
	}
	return nil
}

// noneInstalled is what a home without any plugin needs.
const noneInstalled = "nothing is installed: drawbridge search, then drawbridge install NAMESPACE/NAME"

// noneTrusted is what a home without any registry needs.
const noneTrusted = "no registry is trusted yet: drawbridge registry add URL FINGERPRINT"

func (a *app) noteNothingFound(ctx context.Context) error {
	var list []host.RegistryInfo
	if err := a.call(ctx, "registries.list", struct{}{}, &list); err != nil {
		return err
	}
	if len(list) == 0 {
		a.note("nothing is found; " + noneTrusted)
	} else {
		a.note("nothing is found; drawbridge registry list says where it was looked for")
	}
	return nil
}

func (a *app) outdatedCmd() *cobra.Command {
	return &cobra.Command{
		Use: "outdated", Short: "compare what is installed with the newest versions, and tell what was taken back", Args: cobra.NoArgs,
		Long: `Asks the registries for what is new and lists the plugins that have a newer version on
their channel, or whose installed version was yanked or revoked.

It ends with 0 if there is nothing to do, with 1 if something is outdated or yanked or
could not be looked up, and with 5 if something installed is revoked.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list []host.OutdatedPlugin
			if err := a.call(cmd.Context(), "plugins.outdated", struct{}{}, &list); err != nil {
				return err
			}
			installed := len(list)
			list = slices.DeleteFunc(list, func(o host.OutdatedPlugin) bool {
				return !o.Outdated && o.Yanked == "" && o.Revoked == nil && o.Problem == nil
			})
			a.show(outdatedResult{list}, func(w io.Writer) {
				if len(list) > 0 {
					printOutdated(w, list)
				}
			})
			for _, o := range list {
				if o.Revoked != nil {
					a.note("%s: %s", redact.Visible(o.Name), redact.Visible(o.Revoked.Why))
					a.note("%s: hint: drawbridge list says what mends it", redact.Visible(o.Name))
				}
				if o.Problem != nil {
					a.note("%s: %s", redact.Visible(o.Name), redact.Visible(o.Problem.Why))
					if o.Problem.Hint != "" {
						a.note("%s: hint: %s", redact.Visible(o.Name), redact.Visible(o.Problem.Hint))
					}
				}
			}
			if installed == 0 {
				a.note(noneInstalled)
			} else {
				a.ifNone(len(list), "everything that is installed is the newest")
			}
			switch {
			case slices.ContainsFunc(list, func(o host.OutdatedPlugin) bool { return o.Revoked != nil }):
				return errSaidUntrusted
			case len(list) > 0:
				return errSaid
			}
			return nil
		},
	}
}

func printOutdated(w io.Writer, list []host.OutdatedPlugin) {
	row(w, "PLUGIN", "INSTALLED", "NEWEST", "CHANNEL", "PERMISSIONS", "STATE")
	for _, o := range list {
		row(w, o.Name, o.Installed, o.Newest, o.Channel, sizeOfChange(o), stateOf(o))
	}
}

// sizeOfChange says what a newer version asks of a person.
func sizeOfChange(o host.OutdatedPlugin) string {
	switch {
	case !o.Outdated || o.Problem != nil:
		return "-"
	case o.Wider:
		return fmt.Sprintf("wider: asks you (%s)", plural(o.Changes, "change"))
	case o.Asks:
		return fmt.Sprintf("tells otherwise: asks you (%s)", plural(o.Changes, "change"))
	}
	return "not wider"
}

func stateOf(o host.OutdatedPlugin) string {
	var parts []string
	if o.Revoked != nil {
		parts = append(parts, "revoked")
	}
	if o.Yanked != "" {
		parts = append(parts, fmt.Sprintf("the installed version was yanked: %q", o.Yanked))
	}
	if o.Problem != nil {
		parts = append(parts, problemState(o))
	}
	if o.Pinned {
		parts = append(parts, "pinned")
	}
	return strings.Join(append(parts, instead(o)...), "; ")
}

// instead is the command that brings a plugin to another version, if there is one
// that does; of what is revoked, the hint of drawbridge list says it.
func instead(o host.OutdatedPlugin) []string {
	switch {
	case o.Revoked != nil || o.Problem != nil:
		return nil
	case o.Outdated && o.Pinned:
		return []string{"drawbridge unpin " + o.Name}
	case o.Outdated:
		return []string{"drawbridge update " + o.Name}
	}
	return []string{"drawbridge info " + o.Name + " lists the others"}
}

// problemState says in a few words why an update wouldn't help.
func problemState(o host.OutdatedPlugin) string {
	switch {
	case o.Problem.Reason == abi.ReasonSnapshotExpired:
		return "its registry has expired"
	case o.Outdated:
		return "can't be installed"
	}
	return "can't be looked up"
}

func (a *app) verifyCmd() *cobra.Command {
	return &cobra.Command{
		Use: "verify [NAME]...", Short: "look at every installed byte again: hashes, signatures, revocations, machine code", Args: cobra.ArbitraryArgs,
		Long: `Compares what is stored with the lock file, verifies each release's signature against
the registry's verified state, looks it up in the revocations, and checks the machine
code that was made of its module. It needs no network and changes nothing.

It ends with 0 if all is well and with 5 if something is not; then it says which
command mends it.`,
		ValidArgsFunction: a.allNamed("plugins.list", "plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			start := time.Now()
			var list []host.VerifiedPlugin
			if err := a.call(cmd.Context(), "plugins.verify", control.VerifyParams{Plugins: args}, &list); err != nil {
				return err
			}
			a.show(verifiedResult{list}, func(w io.Writer) { printVerified(w, list) })
			bad := 0
			for _, p := range list {
				if !p.OK {
					bad++
				}
			}
			a.ifNone(len(list), noneInstalled)
			if bad > 0 {
				a.note("%d of %d plugins are not what was verified", bad, len(list))
				return errSaidUntrusted
			}
			if len(list) > 0 {
				a.note("all as it was verified, in %s", time.Since(start).Round(time.Millisecond))
			}
			return nil
		},
	}
}

func printVerified(w io.Writer, list []host.VerifiedPlugin) {
	for _, p := range list {
		if p.OK {
			names := make([]string, len(p.Checks))
			for i, c := range p.Checks {
				names[i] = c.What
			}
			row(w, "ok", p.Name, p.Version, strings.Join(names, ", "))
			continue
		}
		row(w, "FAULT", p.Name, p.Version, "")
		for _, c := range p.Checks {
			if c.Refused == nil {
				continue
			}
			row(w, "", "", c.What, c.Refused.Why)
			if c.Refused.Hint != "" {
				row(w, "", "", "", "hint: "+c.Refused.Hint)
			}
		}
	}
}
