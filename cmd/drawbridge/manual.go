package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// Completion scripts and manual pages are made from the table of commands that the
// program itself runs by, so that they can't say anything else.

func (a *app) completionCmd() *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "print the script that completes commands and flags in bash, zsh or fish",
		Long: `Prints a completion script. To load it in every new shell:

  bash   drawbridge completion bash > ~/.local/share/bash-completion/completions/drawbridge
  zsh    drawbridge completion zsh > "${fpath[1]}/_drawbridge"
  fish   drawbridge completion fish > ~/.config/fish/completions/drawbridge.fish

Completing starts no daemon.`,
		Args: cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs), ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			var script bytes.Buffer
			if err := writeCompletion(&script, cmd.Root(), args[0]); err != nil {
				return err
			}
			a.show(scriptResult{args[0], script.String()}, func(io.Writer) { _, _ = a.stdout.Write(script.Bytes()) }) // no table: tabs stay
			return nil
		},
	}
}

func writeCompletion(w io.Writer, root *cobra.Command, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	}
	return root.GenFishCompletion(w, true)
}

func (a *app) manCmd() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "write the manual pages, one a command, into a directory", Args: cobra.ExactArgs(1),
		Long: `Writes drawbridge.1 and one page for each command, for man(1). A directory such as
~/.local/share/man/man1 is where man looks for them.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // manual pages are for everybody
				return fmt.Errorf("making the directory: %w", err)
			}
			var written []string
			for _, c := range commandsOf(cmd.Root()) {
				path := filepath.Join(args[0], pageName(c)+".1")
				if err := atomicfile.Write(path, []byte(manualPage(c)), 0o644); err != nil {
					return err
				}
				written = append(written, path)
			}
			a.show(manualResult{args[0], written}, func(w io.Writer) { fmt.Fprintf(w, "%d pages in %s\n", len(written), args[0]) })
			return nil
		},
	}
}

// surroundingsHelp says what the command takes from its environment, and where it
// keeps its files.
func surroundingsHelp() string {
	return "A daemon keeps the environment of what started it: drawbridge stop lets the next\ncommand start another one.\n\n" +
		"  " + httpPortVar + "       port of MCP over HTTP on 127.0.0.1; 0 takes a free one\n" +
		"  " + attachVar + "     your own browser to work in, by its address or profile\n" +
		"  " + logLevelVar + "  what is logged from: debug, info, warn or error\n" +
		"  " + refreshVar + "    how often registries are fetched: a duration such as 1h, or off\n" +
		"  " + control.TokenVar + "      token of the client that starts drawbridge mcp\n" +
		"  " + platform.HomeVar + "       an absolute directory for all files, in place of these\n\n" +
		"Files, on Linux without XDG variables:\n\n" +
		"  ~/.config/drawbridge       settings, clients, the audit log's key\n" +
		"  ~/.local/share/drawbridge  registries, plugins, the browser's profile\n" +
		"  ~/.local/state/drawbridge  logs, the audit log, the daemon's socket"
}

// commandsOf lists a command and all below it that a person may run, each before
// its own.
func commandsOf(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			list = append(list, commandsOf(sub)...)
		}
	}
	return list
}

// pageName is a command's path with dashes, such as drawbridge-registry-add.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// exitTable is the table of exit codes, in the manual's words.
func exitTable() [][2]string {
	return [][2]string{
		{fmt.Sprint(exitOK), "done"},
		{fmt.Sprint(exitError), "any other error"},
		{fmt.Sprint(exitUsage), "the command line is wrong"},
		{fmt.Sprint(exitDenied), "a person, a policy or a grant said no"},
		{fmt.Sprint(exitAuth), "nobody is signed in at the site"},
		{fmt.Sprint(exitUntrusted), "a signature, hash or trust check refused"},
	}
}

// manualPage is a command's page in the language of man(7).
func manualPage(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s \"drawbridge\"\n", roffWord(strings.ToUpper(pageName(c))), roffWord("drawbridge "+version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(pageName(c)), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.CommandPath()))
	if rest := strings.TrimPrefix(c.UseLine(), c.CommandPath()); strings.TrimSpace(rest) != "" {
		fmt.Fprintf(&b, "%s\n", roff(strings.TrimSpace(rest)))
	}
	text := c.Long
	if text == "" {
		text = c.Short
	}
	b.WriteString(".SH DESCRIPTION\n")
	roffText(&b, text)
	roffFlags(&b, "OPTIONS", c.NonInheritedFlags())
	roffFlags(&b, "OPTIONS OF EVERY COMMAND", c.InheritedFlags())
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range exitTable() {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", e[0], roff(e[1]))
	}
	var others []string
	if c.HasParent() {
		others = append(others, fmt.Sprintf(".BR %s (1)", roff(pageName(c.Parent()))))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			others = append(others, fmt.Sprintf(".BR %s (1)", roff(pageName(sub))))
		}
	}
	if len(others) > 0 {
		b.WriteString(".SH SEE ALSO\n" + strings.Join(others, ",\n") + "\n")
	}
	return b.String()
}

// roffFlags lists flags, if there are any.
func roffFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		if kind != "" {
			name += " " + kind
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(name), roff(usage))
		switch f.DefValue {
		case "", "false", "[]", "0", "0s", "-1":
		default:
			fmt.Fprintf(b, "(default: %s)\n", roff(f.DefValue))
		}
	})
}

// roffText writes paragraphs; lines that are indented stay as they are.
func roffText(b *strings.Builder, text string) {
	literal := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if indented := strings.HasPrefix(line, "  "); indented != literal && line != "" {
			literal = indented
			b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[literal])
		}
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roff(line) + "\n")
	}
	if literal {
		b.WriteString(".fi\n")
	}
}

// roff makes text that means nothing to a formatter.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

// roffWord is one argument of a request.
func roffWord(s string) string { return `"` + strings.ReplaceAll(roff(s), `"`, `\(dq`) + `"` }
