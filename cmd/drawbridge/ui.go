package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

// How the command talks to a person:
//
//   - results go to standard output; everything else, prompts included, goes to
//     standard error, because standard output may belong to a pipe or to MCP;
//   - "drawbridge: error: " and "drawbridge: hint: " begin what went wrong and
//     the command to run next, lower case, no full stop;
//   - with --json, standard output holds one JSON object: the result, or else the
//     error (RATIONALE.md has the rules); results.go has the types;
//   - text that came from a page, a registry or a module is shown with its
//     control characters made visible, in JSON by escapes of its own;
//   - a question is asked only if standard input is a terminal.

// What begins a message that says what went wrong, and what to do about it.
const (
	errorPrefix = "drawbridge: error: "
	hintPrefix  = "drawbridge: hint: "
)

// fail reports err.
func (a *app) fail(err error) {
	if errors.Is(err, errSaid) {
		return
	}
	e := errorOf(err)
	if a.json && a.printed { // a result is there, and is the one object of standard output
		writeJSON(a.stderr, errorResult{*e})
		return
	}
	if a.json {
		a.printJSON(errorResult{*e})
		return
	}
	// A message of several lines, such as a compiler's, keeps them, marked so that
	// none passes for one of ours.
	fmt.Fprintf(a.stderr, errorPrefix+"%s\n", strings.ReplaceAll(redact.VisibleText(e.Message), "\n", "\n  | "))
	if e.Hint != "" {
		fmt.Fprintf(a.stderr, hintPrefix+"%s\n", redact.Visible(e.Hint))
	}
}

// errorOf is an error as a person or a program is told it.
func errorOf(err error) *control.Error {
	var e *abi.Error
	if !errors.As(err, &e) {
		e = &abi.Error{Code: abi.ErrInternal, Msg: err.Error()}
	}
	if u, ok := errors.AsType[usageError](err); ok {
		e = &abi.Error{Code: abi.ErrInvalidArgs, Msg: err.Error(), Hint: u.hint()}
	}
	return &control.Error{Code: e.Code, Reason: e.Reason, Message: e.Error(), Hint: e.Hint}
}

// told is err for a command whose result says already what is wrong: with --json
// it is not said again.
func (a *app) told(err error) error {
	if err == nil || !a.json {
		return err
	}
	return fmt.Errorf("%w: %w", errSaid, err)
}

// note tells a person something on the side.
func (a *app) note(format string, args ...any) {
	if !a.json {
		fmt.Fprintf(a.stderr, format+"\n", args...)
	}
}

// ifNone tells a person what makes a list that is empty longer.
func (a *app) ifNone(n int, text string) {
	if n == 0 {
		a.note("%s", text)
	}
}

// show prints a result: v as JSON with --json, else what text writes.
func (a *app) show(v any, text func(w io.Writer)) {
	if a.json {
		a.printJSON(v)
		return
	}
	var page bytes.Buffer
	w := tabwriter.NewWriter(&page, 0, 8, 2, ' ', 0)
	text(w)
	_ = w.Flush() // a buffer takes everything
	for line := range strings.Lines(page.String()) {
		if _, err := fmt.Fprintln(a.stdout, strings.TrimRight(line, " \n")); err != nil {
			return // whoever reads may have gone
		}
	}
}

// A table is printed with its head, or not at all if it has no rows.
type table struct {
	head []any
	rows [][]any
}

func (t *table) row(cells ...any) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer) {
	if len(t.rows) == 0 {
		return
	}
	row(w, t.head...)
	for _, r := range t.rows {
		row(w, r...)
	}
}

// moment is a time as a person reads it, in their own time zone.
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

func (a *app) printJSON(v any) {
	a.printed = true
	writeJSON(a.stdout, v)
}

// writeJSON writes an indented document in which everything can be seen.
func writeJSON(w io.Writer, v any) {
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(v) == nil {
		_, _ = w.Write(redact.VisibleJSON(doc.Bytes())) // whoever reads may have gone
	}
}

// row prints one line of a table; every cell is made visible.
func row(w io.Writer, cells ...any) {
	parts := make([]string, len(cells))
	for i, c := range cells {
		parts[i] = redact.Visible(fmt.Sprint(c))
	}
	fmt.Fprintln(w, strings.Join(parts, "\t"))
}

// terminal returns the terminal that a person sits at, or nil.
func (a *app) terminal() *os.File {
	f, ok := a.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// ask shows a question of the daemon and returns what was retyped.
func (a *app) ask(ctx context.Context, q host.Question) (string, error) {
	if a.terminal() == nil {
		return "", control.NeedsPerson(q.Title)
	}
	fmt.Fprintf(a.stderr, "\n%s\n", redact.Visible(q.Title))
	for _, l := range q.Lines {
		fmt.Fprintf(a.stderr, "  %s\n", redact.Visible(l))
	}
	fmt.Fprintf(a.stderr, "\nTo agree, type %s (anything else refuses): ", q.Code)
	line, err := a.line(ctx)
	if err != nil {
		return "", err
	}
	if !strings.EqualFold(line, q.Code) {
		return "", nil
	}
	return q.Code, nil
}

// line reads one line from standard input.
func (a *app) line(ctx context.Context) (string, error) {
	type read struct {
		text string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		text, err := bufio.NewReader(io.LimitReader(a.stdin, 4096)).ReadString('\n')
		got <- read{strings.TrimSpace(text), err}
	}()
	select {
	case r := <-got:
		if r.err != nil && r.text == "" {
			return "", abi.Errorf(abi.ErrConfirmationDenied, "confirm", "nothing was typed: %w", r.err)
		}
		return r.text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// secret asks for a secret on the terminal, without echo.
func (a *app) secret(prompt string) ([]byte, error) {
	t := a.terminal()
	if t == nil {
		return nil, abi.Errorf(abi.ErrConfirmationDenied, "prompt", "%s is asked for on a terminal, and standard input is none", prompt)
	}
	// Echo goes off before the prompt comes, so that nothing typed ahead is shown.
	before, err := term.MakeRaw(int(t.Fd()))
	if err != nil {
		return nil, fmt.Errorf("turning off echo: %w", err)
	}
	defer func() { _ = term.Restore(int(t.Fd()), before) }()
	screen := struct {
		io.Reader
		io.Writer
	}{t, a.stderr}
	text, err := term.NewTerminal(screen, "").ReadPassword(prompt + ": ")
	if err != nil {
		return nil, abi.Errorf(abi.ErrConfirmationDenied, "prompt", "no %s was typed: %w", prompt, err)
	}
	return []byte(text), nil
}

// fdSecret reads a secret from an inherited file descriptor, up to its first
// line end.
func fdSecret(fd int) ([]byte, error) {
	f := os.NewFile(uintptr(fd), "passphrase")
	if f == nil {
		return nil, usage(fmt.Errorf("file descriptor %d is not open", fd))
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return nil, usage(fmt.Errorf("reading the passphrase from file descriptor %d: %w", fd, err))
	}
	text, _, _ := strings.Cut(string(data), "\n")
	return []byte(strings.TrimSuffix(text, "\r")), nil
}
