package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"syscall"

	"github.com/creack/pty"
)

// shownCode is the code that a question asks to be retyped, at its end.
var shownCode = regexp.MustCompile(`type (\S+) \([^\n]*refuses\): $`)

// agree runs a command in a terminal and says yes to its one question.
func (b *bridge) agree(ctx context.Context, args ...string) error {
	cmd, done, err := b.prepare(ctx, args)
	if err != nil {
		return err
	}
	defer done()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
	if err != nil {
		return err
	}
	defer func() { _ = tty.Close() }()
	seen, err := retype(tty)
	if err = errors.Join(err, cmd.Wait()); err != nil {
		return fmt.Errorf("drawbridge %s: %w\n%s", args[0], err, tail([]byte(seen)))
	}
	return nil
}

// retype reads a terminal to its end, answers the question in it, and returns what
// stood there.
func retype(tty io.ReadWriter) (string, error) {
	var seen strings.Builder
	asked := false
	buf := make([]byte, 4096)
	for {
		n, err := tty.Read(buf)
		seen.Write(buf[:n])
		if m := shownCode.FindStringSubmatch(seen.String()); m != nil && !asked {
			asked = true
			if _, err := io.WriteString(tty, m[1]+"\n"); err != nil {
				return seen.String(), err
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, syscall.EIO): // the program has closed it
			if !asked {
				return seen.String(), errors.New("it never asked")
			}
			return seen.String(), nil
		default:
			return seen.String(), err
		}
	}
}
