package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

// A listedPlugin is one that is installed, and what it is set to if that was asked
// for.
type listedPlugin struct {
	host.PluginInfo

	// Settings are left out unless they were asked for.
	Settings []host.SettingInfo `json:"settings,omitzero"`
}

func (a *app) listCmd() *cobra.Command {
	var all, settings bool
	cmd := &cobra.Command{
		Use: "list", Short: "list installed connectors, whether they can run, and how they are", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list []listedPlugin
			if err := a.call(cmd.Context(), "plugins.list", struct{}{}, &list); err != nil {
				return err
			}
			other := len(list)
			if !all {
				list = slices.DeleteFunc(list, func(p listedPlugin) bool { return !isConnector(p.PluginInfo) })
			}
			if settings {
				var set map[string][]host.SettingInfo
				if err := a.call(cmd.Context(), "plugins.settings", struct{}{}, &set); err != nil {
					return err
				}
				for i := range list {
					list[i].Settings = append([]host.SettingInfo{}, set[list[i].Name]...)
				}
			}
			a.show(pluginsResult{list}, func(w io.Writer) {
				if len(list) > 0 {
					printPlugins(w, list, all)
				}
			})
			if other > 0 {
				a.ifNone(len(list), "no connector is installed; drawbridge list --all shows the other kinds of plugin")
			} else {
				a.ifNone(len(list), noneInstalled)
			}
			for _, p := range list {
				for _, n := range p.Notices {
					a.note("%s: %s", redact.Visible(p.Name), redact.Visible(n))
				}
				if p.Error != nil {
					a.note("%s: %s", redact.Visible(p.Name), redact.Visible(p.Error.Why))
				}
				if p.Error != nil && p.Error.Hint != "" {
					a.note("%s: hint: %s", redact.Visible(p.Name), redact.Visible(p.Error.Hint))
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list the kinds of plugin that this host does not run, too")
	cmd.Flags().BoolVar(&settings, "settings", false, "show what each plugin's settings are, without what looks like a secret")
	return cmd
}

// isConnector reports whether a plugin belongs in the list of connectors. One that
// could not be read may be one.
func isConnector(p host.PluginInfo) bool {
	return p.Category == "" || p.Category == string(abi.CategoryConnector)
}

func printPlugins(w io.Writer, list []listedPlugin, all bool) {
	head := []any{"PLUGIN", "VERSION", "CHANNEL", "REGISTRY", "CONNECTORS", "STATE", "PUBLISHER"}
	if all {
		head = append(head, "CATEGORY")
	}
	row(w, head...)
	for _, p := range list {
		conns := make([]string, len(p.Connectors))
		for i, id := range p.Connectors {
			conns[i] = id
			for _, c := range p.Health {
				if c.Connector == id {
					conns[i] += " (" + string(c.State) + ")"
				}
			}
		}
		cells := []any{p.Name, p.Version, followed(p.PluginInfo), p.Registry, strings.Join(conns, ", "), shortState(p.PluginInfo), p.Signer}
		if all {
			cells = append(cells, p.Category)
		}
		row(w, cells...)
		for _, s := range p.Settings {
			row(w, "  "+settingLine(s))
		}
	}
}

// shortState is a state in a word: why it is so stands below the table.
func shortState(p host.PluginInfo) string {
	switch {
	case p.Error == nil:
		return p.State
	case p.Error.Reason == abi.ReasonArtifactRevoked, p.Error.Reason == abi.ReasonKeyRevoked:
		return "revoked"
	case p.Error.Reason != "":
		return string(p.Error.Reason)
	}
	return string(p.Error.Code)
}

// followed says which versions a plugin is brought to by an update.
func followed(p host.PluginInfo) string {
	if p.Pinned {
		return p.Channel + ", pinned"
	}
	return p.Channel
}
