// Command mutants shows that the tests of our security checks can fail. Each file in
// patches takes one check out; mutants applies it to a scratch copy of the
// tracked files, runs the test that the file names, and wants it to fail by an
// assertion, not by a compile error. A patch that no longer applies is a fault too.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// perMutant bounds one test run.
const perMutant = 5 * time.Minute

func main() {
	only := flag.String("only", "", "run the patches whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, *only, os.Stdout))
}

func run(ctx context.Context, only string, out io.Writer) int {
	paths, err := filepath.Glob("test/mutants/patches/*.patch")
	if err != nil || len(paths) == 0 {
		fmt.Fprintln(out, "mutants: no patches found; run it at the top of the repository", err)
		return 2
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = scratch(ctx, dir)
	}
	if err != nil {
		fmt.Fprintln(out, "mutants:", err)
		return 2
	}
	passed, failed := 0, 0
	for _, p := range paths {
		if !strings.Contains(filepath.Base(p), only) {
			continue
		}
		start := time.Now()
		if err := kill(ctx, dir, p); err != nil {
			failed++
			fmt.Fprintf(out, "SURVIVED %s: %v\n", filepath.Base(p), err)
			continue
		}
		passed++
		fmt.Fprintf(out, "killed   %s (%s)\n", filepath.Base(p), time.Since(start).Round(time.Second))
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return 1
	}
	return 0
}

// A mutant is one patch with its header.
type mutant struct {
	pkg, test string
	diff      []byte
}

// parse reads a patch: "Check:", "Package:" and "Test:" lines, then a diff.
func parse(data []byte) (mutant, error) {
	head, _, ok := bytes.Cut(data, []byte("\ndiff "))
	if !ok {
		return mutant{}, errors.New("no diff in it")
	}
	m := mutant{diff: data[len(head)+1:]}
	for line := range strings.Lines(string(head)) {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); key {
		case "Package":
			m.pkg = value
		case "Test":
			m.test = value
		}
	}
	if m.pkg == "" || m.test == "" {
		return m, errors.New("its header lacks Package or Test")
	}
	return m, nil
}

// kill returns nil if the named test fails with the check taken out of the copy
// in dir. The copy is whole again afterwards: all mutants share it, so that only
// what a patch touches is compiled anew.
func kill(ctx context.Context, dir, path string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, perMutant)
	defer cancel()
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	m, err := parse(data)
	if err != nil {
		return err
	}
	if err := apply(ctx, dir, m.diff); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, apply(context.WithoutCancel(ctx), dir, m.diff, "--reverse")) }()
	test := exec.CommandContext(ctx, "go", "test", "-count=1", "-run", "^"+m.test+"$", m.pkg)
	test.Dir = dir
	msg, err := test.CombinedOutput()
	switch {
	case err == nil:
		return fmt.Errorf("%s %s passes without the check", m.pkg, m.test)
	case !bytes.Contains(msg, []byte("--- FAIL")):
		return fmt.Errorf("%s %s did not fail by an assertion:\n%s", m.pkg, m.test, msg)
	}
	return nil
}

// apply applies a diff to the copy in dir, or takes it back.
func apply(ctx context.Context, dir string, diff []byte, flags ...string) error {
	args := append([]string{"apply", "--unidiff-zero", "--recount"}, flags...)
	cmd := exec.CommandContext(ctx, "git", append(args, "-")...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(diff)
	if msg, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the patch does not apply: %s", bytes.TrimSpace(msg))
	}
	return nil
}

// scratch copies the tracked files, as they are in the working tree, into dir and
// makes it a repository.
func scratch(ctx context.Context, dir string) error {
	list, err := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("listing files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		if err := copyFile(name, filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return exec.CommandContext(ctx, "git", "-C", dir, "init", "-q").Run()
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm())
}
