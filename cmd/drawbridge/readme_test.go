package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReadmeCommandsExist parses every command line of the README's shell blocks
// as the program would, without running it.
func TestReadmeCommandsExist(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(readme(t), -1)
	seen := 0
	for _, b := range blocks {
		for line := range strings.Lines(b[1]) {
			line, _, _ = strings.Cut(line, " #")
			line, _, _ = strings.Cut(line, " > ")
			line, _, _ = strings.Cut(line, " | ")
			args := shellWords(strings.TrimSpace(line))
			if len(args) == 0 || args[0] != "drawbridge" {
				continue
			}
			seen++
			checkLine(t, args[1:])
		}
	}
	if seen < 10 {
		t.Errorf("found %d command lines in README.md", seen)
	}
}

func checkLine(t *testing.T, args []string) {
	t.Helper()
	a := &app{getenv: func(string) string { return "" }}
	cmd, rest, err := a.root().Find(args)
	if err != nil || !cmd.Runnable() || cmd.HasSubCommands() && len(rest) > 0 && cmd.Args == nil {
		t.Errorf("README: %q: no such command: %v", args, err)
		return
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("README: %q: %v", args, err)
		return
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		t.Errorf("README: %q: %v", args, err)
	}
	if err := cmd.ValidateRequiredFlags(); err != nil {
		t.Errorf("README: %q: %v", args, err)
	}
}

// shellWords splits a line at spaces outside quotes.
func shellWords(line string) []string {
	return regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`).FindAllString(line, -1)
}

func TestReadmeExitCodes(t *testing.T) {
	text := readme(t)
	for _, e := range exitTable() {
		if !strings.Contains(text, "| "+e[0]+" | "+e[1]+" |\n") {
			t.Errorf("README.md does not list exit code %s as %q", e[0], e[1])
		}
	}
}

func TestReadmeNamesThePort(t *testing.T) {
	for _, want := range []string{fmt.Sprintf("127.0.0.1:%d", defaultPort), httpPortVar} {
		if !strings.Contains(readme(t), want) {
			t.Errorf("README.md does not mention %s", want)
		}
	}
}
