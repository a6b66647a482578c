package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/logfile"
)

// What a page, a module or a client said reaches a terminal as text that can be
// seen, whichever way it is printed: U+009B begins a command of a terminal.
func TestNothingPrintedCommandsATerminal(t *testing.T) {
	const evil = "\u009b2J\u202etxt\U000e0041"
	said, err := json.Marshal(map[string]string{"v": evil})
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(a *app){
		"a result":           func(a *app) { a.show(nil, func(w io.Writer) { printResult(w, said) }) },
		"a result as JSON":   func(a *app) { a.json = true; a.show(json.RawMessage(said), nil) },
		"a table":            func(a *app) { a.show(nil, func(w io.Writer) { row(w, evil) }) },
		"an error":           func(a *app) { a.fail(errors.New(evil)) },
		"an error as JSON":   func(a *app) { a.json = true; a.fail(errors.New(evil)) },
		"a log line":         func(a *app) { io.WriteString(a.stdout, logLine(logfile.Record{Msg: evil})) }, //nolint:errcheck // a buffer
		"a log line as JSON": func(a *app) { a.json = true; a.show([]json.RawMessage{rawRecord(logfile.Record{Raw: said})}, nil) },
	} {
		var out bytes.Buffer
		write(&app{stdout: &out, stderr: &out})
		if s := out.String(); strings.ContainsAny(s, evil[:2]+"\u202e\U000e0041") || !strings.Contains(s, `\u009b2J`) {
			t.Errorf("%s is printed as %q", name, s)
		}
	}
}

// However long the arguments are, the line above the answer says what is approved.
func TestApprovalPromptNamesTheCall(t *testing.T) {
	got := approvalPrompt(control.Approval{Tool: "tracker.delete", Origin: "https://tracker.example", Account: "ada\u202e\nTo approve nothing"}, "abc-def")
	if want := "\nTo approve tracker.delete at https://tracker.example as \"ada\\u202e\\nTo approve nothing\", type abc-def ("; !strings.HasPrefix(got, want) {
		t.Errorf("the prompt is %q", got)
	}
}

// A table ends where its text ends, and has no head without rows.
func TestTable(t *testing.T) {
	var out bytes.Buffer
	a := &app{stdout: &out}
	few := table{head: []any{"NAME", "LONG TITLE", "STATE"}}
	few.row("a", "b", "")
	few.row("abcdef", "", "")
	a.show(nil, few.write)
	if want := "NAME    LONG TITLE  STATE\na       b\nabcdef\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
	out.Reset()
	a.show(nil, (&table{head: []any{"NAME"}}).write)
	if out.Len() > 0 {
		t.Errorf("printed %q", out.String())
	}
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 1610: "1.6 KiB", 3 << 20: "3.0 MiB"} {
		if got := size(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
