package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

func (a *app) installCmd() *cobra.Command {
	var set []string
	cmd := &cobra.Command{
		Use:   "install [REGISTRY:][NAMESPACE/]NAME[@VERSION|@CHANNEL]",
		Short: "install a plugin from a trusted registry, after showing what it may do",
		Long: `Installs a plugin, or another version of one that is installed, after a person at
the terminal has agreed to what it may do. What is installed and may do no more
than before is not asked about. An older version than the installed one is refused:
drawbridge rollback goes back.

The namespace, and the registry, can be left out where only one plugin is meant; a
plugin is never taken from a registry because another one has none. VERSION is one
version, a constraint such as "~> 1.2", or latest; CHANNEL is stable or beta, and is
what updates follow from then on.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, err := parseSettings(set)
			if err == nil {
				err = badRef(args[0])
			}
			if err != nil {
				return err
			}
			before := a.listed(cmd)
			var res installedResult
			if err := a.call(cmd.Context(), "plugins.install", control.PluginParams{Ref: args[0], Settings: settings}, &res.PluginInfo); err != nil {
				return err
			}
			res.Unchanged = len(settings) == 0 && slices.ContainsFunc(before, func(p host.PluginInfo) bool {
				return p.Error == nil && p.Name == res.Name && p.Version == res.Version && p.Channel == res.Channel
			})
			var how []host.ConnectorHealth
			for _, p := range a.listed(cmd) {
				if p.Name == res.Name {
					how = p.Health
				}
			}
			a.show(res, func(w io.Writer) {
				if res.Unchanged {
					fmt.Fprintf(w, "%s@%s is installed already, and follows the channel %s\n", res.Name, res.Version, res.Channel)
				} else {
					fmt.Fprintf(w, "installed %s@%s, signed by %s\n", res.Name, res.Version, res.Signer)
				}
				for _, c := range res.Connectors {
					if slices.ContainsFunc(how, func(h host.ConnectorHealth) bool { return h.Connector == c && h.State == "ok" }) {
						continue // somebody is signed in
					}
					fmt.Fprintf(w, "connector %s: next, drawbridge login %s\n", c, c)
				}
			})
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&set, "set", nil, "a setting as NAME=VALUE, such as base_url=https://tracker.example; may be repeated")
	return cmd
}

// listed is what is installed, or nothing if that can't be told.
func (a *app) listed(cmd *cobra.Command) (list []host.PluginInfo) {
	if a.call(cmd.Context(), "plugins.list", struct{}{}, &list) != nil {
		return nil
	}
	return list
}

// badRef refuses what can be no plugin's name before a daemon is asked.
func badRef(ref string) error {
	_, err := registry.ParseName(ref)
	return usage(err)
}

func parseSettings(set []string) (map[string]string, error) {
	settings := map[string]string{}
	for _, s := range set {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, usage(fmt.Errorf("--set %q is not NAME=VALUE", s))
		}
		if _, twice := settings[name]; twice {
			return nil, usage(fmt.Errorf("--set gives %q twice", name))
		}
		settings[name] = value
	}
	return settings, nil
}
