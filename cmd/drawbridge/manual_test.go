package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

func rootOf(stdout *bytes.Buffer) *cobra.Command {
	a := &app{stdin: strings.NewReader(""), stdout: stdout, stderr: stdout, getenv: func(string) string { return "" }}
	return a.root()
}

// Every command, and every flag of it, says what it is for, in the way of the
// others: a phrase in lower case, without a full stop.
func TestEveryCommandHasHelp(t *testing.T) {
	phrase := func(what, text string) {
		first := []rune(text + " ")[0]
		switch {
		case strings.TrimSpace(text) == "":
			t.Errorf("%s has no help", what)
		case strings.HasSuffix(text, "."):
			t.Errorf("%s: the help %q ends with a full stop", what, text)
		case unicode.IsUpper(first) && !strings.HasPrefix(text, "MCP") && !strings.HasPrefix(text, "OpenPGP") && what != "drawbridge":
			t.Errorf("%s: the help %q begins with a capital", what, text)
		}
	}
	all := commandsOf(rootOf(&bytes.Buffer{}))
	if len(all) < 30 {
		t.Errorf("%d commands", len(all))
	}
	for _, c := range all {
		phrase(c.CommandPath(), c.Short)
		for line := range strings.Lines(c.Long) {
			if len(line) > 96 {
				t.Errorf("%s: a line of %d bytes: %s", c.CommandPath(), len(line), line)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				phrase(c.CommandPath()+" --"+f.Name, f.Usage)
			}
		})
		if !c.HasSubCommands() && c.Args == nil {
			t.Errorf("%s does not say what arguments it takes", c.CommandPath())
		}
	}
}

// The pages are a format: one of each kind stands here, and all of them pass the
// formatter without a complaint.
func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	var out bytes.Buffer
	root := rootOf(&out)
	root.SetArgs([]string{"man", dir})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"drawbridge", "drawbridge-registry-add", "drawbridge-completion"} {
		page, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "testdata/man/"+name+".1", page)
	}
	groff, err := exec.LookPath("groff")
	for _, c := range commandsOf(root) {
		path := filepath.Join(dir, pageName(c)+".1")
		page, rerr := os.ReadFile(path)
		if rerr != nil || !strings.Contains(string(page), "EXIT STATUS") {
			t.Errorf("%s: %v", path, rerr)
		}
		if err != nil {
			continue // no formatter here
		}
		if msg, err := exec.CommandContext(t.Context(), groff, "-man", "-Tascii", "-ww", "-z", path).CombinedOutput(); err != nil || len(msg) > 0 {
			t.Errorf("%s: %v\n%s", path, err, msg)
		}
	}
	for in, want := range map[string]string{`.x`: `\&.x`, `a\b-c`: `a\eb\-c`, "'q": `\&'q`} {
		if got := roff(in); got != want {
			t.Errorf("%q becomes %q", in, got)
		}
	}
}

// The scripts are ones that a shell reads, and they know the commands.
func TestCompletion(t *testing.T) {
	for shell, has := range map[string]string{"bash": "__start_drawbridge", "zsh": "#compdef drawbridge", "fish": "complete -c drawbridge"} {
		var out bytes.Buffer
		root := rootOf(&out)
		root.SetArgs([]string{"completion", shell})
		if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), has) {
			t.Errorf("%s: %v: %.200s", shell, err, out.String())
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		cmd := exec.CommandContext(t.Context(), path, "-n")
		cmd.Stdin = &out
		if msg, err := cmd.CombinedOutput(); err != nil || len(msg) > 0 {
			t.Errorf("%s refuses it: %v\n%s", shell, err, msg)
		}
	}
	for line, want := range map[string]string{
		"re": "registry\tremove", "registry a": "add\tadd-publisher", "completion ": "bash\tzsh\tfish", "mcp --print-config c": "claude\tcodex\tcursor",
		"install --s": "--set",
	} {
		var out bytes.Buffer
		root := rootOf(&out)
		root.SetArgs(append([]string{cobra.ShellCompNoDescRequestCmd}, strings.Split(line, " ")...))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Error(err)
		}
		for w := range strings.SplitSeq(want, "\t") {
			if !strings.Contains("\n"+out.String(), "\n"+w) {
				t.Errorf("%q completes to\n%swithout %q", line, out.String(), w)
			}
		}
	}
}
