package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// checkRemoved looks whether what is remembered of removed registries can be read: a
// registry of which it can't is not added again.
func checkRemoved(client *registry.Client) []finding {
	list, err := client.Removed()
	if err != nil {
		return []finding{verdict("removed registries", "", err)}
	}
	if len(list) == 0 {
		return nil
	}
	return []finding{verdict("removed registries", fmt.Sprintf("%d remembered: an older state of them is refused", len(list)), nil)}
}

func (a *app) registryRemoveCmd() *cobra.Command {
	var forget bool
	cmd := &cobra.Command{
		Use: "remove REGISTRY", Short: "trust a registry no longer; refused while a plugin from it is installed",
		Long: `What was seen of the registry stays: its newest snapshot, and what was revoked. If it is
added again, by you or by a team's lock file, an older state of it is refused, and the
question says when it was trusted before (drawbridge registry list --removed).

With --forget that goes too, also of one that was removed already. Then an older state
counts again, so this needs a person at a terminal that no MCP client started: it is
for an owner who started the registry anew.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.orRemoved(&forget, a.named("registries.list", "registry"), a.named("registries.removed", "registry")),
		RunE: func(cmd *cobra.Command, args []string) error {
			method, done := "registries.remove", "removed; what was seen of it is remembered"
			if forget {
				method, done = "registries.forget", "removed and forgotten"
			}
			var before []host.RegistryInfo
			if err := a.call(cmd.Context(), "registries.list", struct{}{}, &before); err != nil {
				return err
			}
			if err := a.call(cmd.Context(), method, control.RegistryParams{ID: args[0]}, nil); err != nil {
				return err
			}
			a.show(registryRemovedResult{args[0], true, forget}, func(w io.Writer) { fmt.Fprintf(w, "registry %s %s\n", args[0], done) })
			for _, r := range before {
				if r.ID == args[0] && r.Builtin && forget {
					a.note("drawbridge carries it, and brings it back when its daemon starts again; without --forget it stays away")
				} else if r.ID == args[0] && r.Builtin {
					a.note("drawbridge carries it; it comes back with: drawbridge registry add %s %s", platform.ShellQuote(r.URL), r.Fingerprint)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "forget what was seen of it too; asks you")
	return cmd
}

// orRemoved completes with what is there, and with what was removed if all says so.
func (a *app) orRemoved(all *bool, there, removed completer) completer {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		names, how := there(cmd, args, word)
		if *all {
			more, _ := removed(cmd, args, word)
			names = append(names, more...)
			slices.Sort(names)
			names = slices.Compact(names)
		}
		return names, how
	}
}

// listRemoved prints what is remembered of registries that were removed.
func (a *app) listRemoved(ctx context.Context) error {
	var list []host.RemovedInfo
	if err := a.call(ctx, "registries.removed", struct{}{}, &list); err != nil {
		return err
	}
	a.show(removedRegistriesResult{list}, func(w io.Writer) {
		if len(list) == 0 {
			return
		}
		row(w, "REGISTRY", "FINGERPRINT", "SNAPSHOT", "REVOKED", "REMOVED", "URL")
		for _, r := range list {
			if r.Problem == nil {
				row(w, r.ID, r.Fingerprint, r.Snapshot, r.Revoked, moment(r.Ended), r.URL)
			}
		}
	})
	for _, r := range list {
		if r.Problem != nil {
			a.note("%s", r.Problem.Why)
		}
	}
	a.ifNone(len(list), "no registry was removed")
	return nil
}

func (a *app) syncDistrustCmd() *cobra.Command {
	var forget bool
	cmd := &cobra.Command{
		Use: "distrust NAME", Short: "follow the lock files named NAME no longer; what they installed stays",
		Long: `Which of the lock files was the newest stays: if NAME is trusted again, an older one is
refused (drawbridge sync list --removed).

With --forget that goes too, also of a NAME that is distrusted already. Then an older lock
file counts again, so this needs a person at a terminal that no MCP client started.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.orRemoved(&forget, a.named("teams.list", "team"), a.named("teams.removed", "team")),
		RunE: func(cmd *cobra.Command, args []string) error {
			method, done := "teams.distrust", "are not followed any more; the newest version seen is remembered"
			if forget {
				method, done = "teams.forget", "are not followed, and forgotten"
			}
			if err := a.call(cmd.Context(), method, control.TeamParams{Name: args[0]}, nil); err != nil {
				return err
			}
			a.show(teamRemovedResult{args[0], true, forget}, func(w io.Writer) { fmt.Fprintf(w, "lock files named %s %s\n", args[0], done) })
			return nil
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "forget which version was the newest too; asks you")
	return cmd
}

// listFormerTeams prints what is remembered of teams that are not followed any more.
func (a *app) listFormerTeams(ctx context.Context) error {
	var list []host.FormerTeamInfo
	if err := a.call(ctx, "teams.removed", struct{}{}, &list); err != nil {
		return err
	}
	a.show(formerTeamsResult{list}, func(w io.Writer) {
		if len(list) == 0 {
			return
		}
		row(w, "NAME", "VERSION", "SIGNER", "DISTRUSTED")
		for _, t := range list {
			row(w, t.Name, t.Version, t.Signer, moment(t.Ended))
		}
	})
	a.ifNone(len(list), "no team was distrusted")
	return nil
}
