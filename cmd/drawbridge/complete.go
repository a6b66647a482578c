package main

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// noFiles is what every completion here says beside its names.
const noFiles = cobra.ShellCompDirectiveNoFileComp

// A completer names what an argument can be.
type completer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// named completes a command's first argument, or a flag, with the member key of
// what the daemon lists by method. It starts no daemon: without one there is
// nothing to complete.
func (a *app) named(method, key string) completer {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, noFiles
		}
		return a.names(cmd.Context(), method, key), noFiles
	}
}

// allNamed is named for a command that takes any number of the names.
func (a *app) allNamed(method, key string) completer {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		names := a.names(cmd.Context(), method, key)
		return slices.DeleteFunc(names, func(n string) bool { return slices.Contains(args, n) }), noFiles
	}
}

// flagNamed is named for the value of a flag, which stands beside any arguments.
func (a *app) flagNamed(method, key string) completer {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.names(cmd.Context(), method, key), noFiles
	}
}

func (a *app) names(ctx context.Context, method, key string) []string {
	dirs, err := platform.NewDirs(a.getenv)
	if err != nil {
		return nil
	}
	info, held, err := platform.ReadLock(dirs.LockFile())
	if err != nil || !held || info.Socket == "" {
		return nil
	}
	var list []map[string]json.RawMessage
	if err := askDaemon(ctx, info, method, &list); err != nil {
		return nil // a shell shows no reason
	}
	var names []string
	for _, item := range list {
		var one string
		var many []string
		if json.Unmarshal(item[key], &one) == nil {
			many = []string{one}
		} else {
			_ = json.Unmarshal(item[key], &many) // neither: no names
		}
		names = append(names, many...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
