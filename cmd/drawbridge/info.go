package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

func visible(s string) string { return redact.Visible(s) }

func (a *app) infoCmd() *cobra.Command {
	var settings bool
	cmd := &cobra.Command{
		Use: "info NAME[@VERSION]", Short: "tell all about a plugin: what it may do, who signed it, its tools and its history", Args: cobra.ExactArgs(1),
		Long: `Tells what a plugin may do in plain words, its tools with those that change data
marked, who signed it and with which key, the registry, its versions, and, if another
version is installed, what would change.

NAME is NAMESPACE/NAME, or NAME alone where only one plugin has it; REGISTRY:NAME
names the registry.`,
		ValidArgsFunction: a.named("plugins.names", "plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := registry.ParseName(args[0]); err != nil {
				return usage(err)
			}
			var d host.PluginDetails
			if err := a.call(cmd.Context(), "plugins.info", control.PluginParams{Ref: args[0]}, &d); err != nil {
				return err
			}
			a.show(d, func(w io.Writer) { printDetails(w, d, settings) })
			return nil
		},
	}
	cmd.Flags().BoolVar(&settings, "settings", false, "show what the settings are set to, too")
	return cmd
}

// printDetails prints one part after the other; every line is made visible.
func printDetails(w io.Writer, d host.PluginDetails, settings bool) {
	p := printer{w}
	p.line("%s %s: %s", d.Name, d.Version, d.Title)
	p.line("%s", d.Description)
	p.head(d)
	p.section("may do", d.Permissions)
	if settings || d.Installed == nil {
		p.settings(d.Settings)
	}
	p.tools(d.Tools)
	p.section("read these texts with care", d.Notices)
	p.history(d)
	if u := d.Update; u != nil {
		lines := make([]string, len(u.Changes))
		for i, c := range u.Changes {
			lines[i] = fmt.Sprintf("%s: %s", c.Kind, c)
		}
		if len(lines) == 0 {
			lines = []string{"nothing about what it may do or what is told of it"}
		}
		p.section(fmt.Sprintf("what %s in place of %s changes", u.To, d.Installed.Version), lines)
	}
}

// A printer writes the parts of info.
type printer struct{ w io.Writer }

func (p printer) line(format string, args ...any) {
	fmt.Fprintln(p.w, visible(fmt.Sprintf(format, args...)))
}

// pair writes a name and what it is, unless that is empty.
func (p printer) pair(name, value string) {
	if value != "" {
		p.line("%-11s %s", name, value)
	}
}

func (p printer) section(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	p.line("")
	p.line("%s", title)
	for _, l := range lines {
		p.line("  %s", l)
	}
}

func (p printer) head(d host.PluginDetails) {
	p.line("")
	if r := d.Refused; r != nil {
		p.pair("REFUSED", r.Why)
		p.pair("hint", r.Hint)
	}
	if i := d.Installed; i != nil {
		pinned := ""
		if i.Pinned {
			pinned = ", pinned"
		}
		p.pair("installed", fmt.Sprintf("%s since %s, channel %s%s, %s", i.Version, day(i.Consented), i.Channel, pinned, i.State))
		if i.Error != nil {
			p.pair("REFUSED", i.Error.Why)
			p.pair("hint", i.Error.Hint)
		}
	} else {
		p.pair("installed", "no: drawbridge install "+d.Name)
	}
	if !d.Published.IsZero() {
		yanked := ""
		if d.Yanked != "" {
			yanked = fmt.Sprintf(", YANKED: %q", d.Yanked)
		}
		p.pair("published", fmt.Sprintf("%s, channel %s%s", day(d.Published), d.Channel, yanked))
	}
	p.pair("registry", strings.TrimSuffix(d.Registry+", "+d.Fetched.URL, ", "))
	p.pair("warning", d.Warning)
	p.publisher(d.Publisher)
	p.pair("category", d.Category)
	p.pair("license", d.License)
	p.pair("homepage", d.Homepage)
	p.pair("source", d.Source)
	if d.Module > 0 {
		p.pair("module", size(d.Module))
	}
}

func (p printer) publisher(s host.Publisher) {
	if s.Fingerprint == "" {
		return
	}
	p.pair("publisher", signing.Fingerprint(s.Fingerprint).Grouped())
	for _, id := range s.UserIDs {
		p.pair("", fmt.Sprintf("%q, as the key's owner says", id))
	}
	if s.Key != s.Fingerprint {
		p.pair("signed by", "its subkey "+signing.Fingerprint(s.Key).Grouped())
	}
	p.pair("signed", day(s.Signed))
}

func (p printer) settings(list []host.SettingInfo) {
	var lines []string
	for _, s := range list {
		lines = append(lines, settingLine(s))
	}
	p.section("settings", lines)
}

func settingLine(s host.SettingInfo) string {
	value := "not set"
	switch {
	case s.Hidden:
		value = cmp.Or(s.Value, "set, not shown")
	case s.Default:
		value = s.Value + " (default)"
	case s.Value != "":
		value = s.Value
	case s.Required:
		value = "required: --set " + s.Name + "=…"
	}
	return fmt.Sprintf("%s (%s, %q): %s", s.Name, s.Type, s.Title, value)
}

func (p printer) tools(list []host.ToolDetails) {
	if len(list) == 0 {
		return
	}
	p.line("")
	p.line("tools")
	for _, t := range list {
		mark := "reads  "
		if t.Destructive {
			mark = "CHANGES"
		}
		p.line("  %s  %s: %s", mark, t.Name, t.Title)
		for _, write := range t.Writes {
			p.line("             writes by %s", write)
		}
	}
}

func (p printer) history(d host.PluginDetails) {
	var lines []string
	for _, v := range d.History {
		line := fmt.Sprintf("%s  %s  %s", day(v.Published), v.Version, v.Channel)
		if v.Installed {
			line += "  installed"
		}
		if v.Yanked != "" {
			line += fmt.Sprintf("  yanked: %q", v.Yanked)
		}
		if v.Refused != nil {
			line += fmt.Sprintf("  REFUSED (%s)", v.Refused.Reason)
		}
		lines = append(lines, line)
	}
	if d.Older > 0 {
		lines = append(lines, fmt.Sprintf("and %d older versions", d.Older))
	}
	p.section("history", lines)
}

// size is a number of bytes for a person.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return plural(int(n), "byte")
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
