package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/clientconfig"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// maxClientConfig bounds a client's configuration file. Some clients keep more
// in it than settings.
const maxClientConfig = 32 << 20

// clientConfig prints what an MCP client has to be told, or puts it into the
// client's file after a person agreed.
func (a *app) clientConfig(ctx context.Context, id, name string, write bool) error {
	client, err := clientconfig.Find(id)
	if err != nil {
		return usage(err)
	}
	entry, err := a.serverEntry(name)
	if err != nil {
		return err
	}
	file := client.File(a.environment())
	if write {
		return a.writeClientConfig(ctx, client, entry, file)
	}
	text := client.Snippet(entry)
	a.show(clientConfigResult{Client: client.ID, File: file, Config: text}, func(w io.Writer) { fmt.Fprint(w, text) })
	if file != "" {
		a.note("%s reads it from %s; with --write it is put there, beside what the file holds", client.Title, file)
	}
	return nil
}

func (a *app) environment() clientconfig.Environment {
	return clientconfig.Environment{OS: runtime.GOOS, Getenv: a.getenv}
}

// ownVariables are those that this program decides on in a client's entry. What else
// stands there, such as a token, is the user's.
var ownVariables = []string{platform.HomeVar, httpPortVar, attachVar}

// serverEntry is how a client starts this program. A home of its own goes along,
// since the client's environment may have another.
func (a *app) serverEntry(name string) (clientconfig.Entry, error) {
	exe, err := installedAs()
	if err != nil {
		return clientconfig.Entry{}, err
	}
	e := clientconfig.Entry{Command: exe, Args: []string{"mcp", "--client", name}}
	for _, v := range ownVariables {
		if value := a.getenv(v); value != "" {
			if e.Env == nil {
				e.Env = map[string]string{}
			}
			e.Env[v] = value
		}
	}
	return e, nil
}

// installedAs is where this program stands: on the PATH, if it is found there,
// because that place outlives an update.
func installedAs() (string, error) {
	exe, err := executable()
	if err != nil {
		return "", err
	}
	if found, err := exec.LookPath("drawbridge"); err == nil && filepath.IsAbs(found) && sameFile(found, exe) {
		return found, nil
	}
	return exe, nil
}

func sameFile(a, b string) bool {
	one, err1 := os.Stat(a)
	other, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}

// writeClientConfig changes the client's file: a copy beside it first, then the
// whole file at once, if it is still the one that was shown.
func (a *app) writeClientConfig(ctx context.Context, c clientconfig.Client, e clientconfig.Entry, file string) error {
	if file == "" {
		return abi.Errorf(abi.ErrInvalidArgs, "mcp", "it is not known where %s keeps its configuration here", c.Title).
			WithHint("drawbridge mcp --print-config %s", c.ID)
	}
	target, old, perm, err := readClientFile(file)
	if err != nil {
		return err
	}
	var kept []string
	if earlier, ok := c.Entry(string(old)); ok {
		e, kept = e.Keeping(earlier, ownVariables...)
	}
	text, err := c.Put(string(old), e)
	if err != nil {
		return err
	}
	result := clientConfigResult{Client: c.ID, File: target}
	if text == string(old) {
		a.show(result, func(w io.Writer) { fmt.Fprintf(w, "%s holds it already\n", target) })
		return nil
	}
	backup := ""
	lines := []string{"starts       " + e.Command, "file         " + target}
	if old != nil {
		backup = target + ".before-" + time.Now().UTC().Format("20060102T150405Z")
		lines = append(lines, "copy         "+backup)
		result.Backup = backup
	}
	if len(kept) > 0 {
		lines = append(lines, "keeps        "+strings.Join(kept, ", "))
	}
	if err := a.agree(ctx, "Let "+c.Title+" start drawbridge?", lines); err != nil {
		return err
	}
	if err := replaceFile(target, backup, old, []byte(text), perm); err != nil {
		return err
	}
	a.show(result, func(w io.Writer) { fmt.Fprintf(w, "%s changed; start %s again\n", target, c.Title) })
	return nil
}

// readClientFile reads a client's file, wherever a link leads. old is nil if there
// is none.
func readClientFile(file string) (target string, old []byte, perm fs.FileMode, err error) {
	target, err = filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil, 0o600, nil
	}
	if err != nil {
		return "", nil, 0, fmt.Errorf("finding the client's configuration: %w", err)
	}
	info, err := os.Stat(target)
	if err != nil {
		return "", nil, 0, fmt.Errorf("reading the client's configuration: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxClientConfig {
		return "", nil, 0, abi.Errorf(abi.ErrUnsupportedAction, "mcp", "%q is no file of at most %d bytes", target, maxClientConfig)
	}
	old, err = os.ReadFile(target)
	if err != nil {
		return "", nil, 0, fmt.Errorf("reading the client's configuration: %w", err)
	}
	if old == nil {
		old = []byte{}
	}
	return target, old, info.Mode().Perm(), nil
}

// replaceFile writes the copy and then the file.
func replaceFile(target, backup string, old, text []byte, perm fs.FileMode) error {
	now, err := os.ReadFile(target)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("reading the client's configuration: %w", err)
	}
	if !bytes.Equal(now, old) {
		return abi.Errorf(abi.ErrConfirmationRequired, "mcp", "%q changed while the question was open: nothing was written", target)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return fmt.Errorf("making the client's directory: %w", err)
	}
	if backup != "" {
		if err := atomicfile.Write(backup, old, perm); err != nil {
			return err
		}
	}
	return atomicfile.Write(target, text, perm)
}

// agree asks the person at the terminal to retype a code. It is for what this
// command does with the user's own rights; what the daemon guards, it asks itself.
func (a *app) agree(ctx context.Context, title string, lines []string) error {
	code, err := a.ask(ctx, host.Question{Title: title, Lines: lines, Code: rand.Text()[:5]})
	if err == nil && code == "" {
		err = abi.Errorf(abi.ErrConfirmationDenied, "confirm", "it was refused")
	}
	return err
}
