package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// A keystroke is a prompt that the demo waits for and what it types then.
type keystroke struct {
	prompt string // the end of what stands in the terminal
	text   string // what to type; codeShown means the code in the prompt
}

// codeShown stands for the code that a prompt asks to be retyped.
const codeShown = "\x00code"

var shownCode = regexp.MustCompile(`type (\S+) \(`)

// agree retypes the code that a question shows.
func agree() []keystroke { return []keystroke{{"refuses): ", codeShown}} }

func (d *demoRun) file(name string) string { return d.work + string(os.PathSeparator) + name }

func (d *demoRun) say(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		fmt.Fprintf(d.out, "    %s\n", strings.TrimRight(line, "\n"))
	}
}

func (d *demoRun) getenv(name string) string {
	if name == platform.HomeVar {
		return d.home
	}
	return os.Getenv(name)
}

// command is this program in the demo's home; the passphrase waits on file
// descriptor 3.
func (d *demoRun) command(ctx context.Context, args []string) (*exec.Cmd, func(), error) {
	cmd := exec.CommandContext(ctx, d.exe, args...)
	cmd.Env = append(os.Environ(), platform.HomeVar+"="+d.home, httpPortVar+"=0")
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	if _, err := w.WriteString(demoPassphrase + "\n"); err != nil {
		return nil, nil, errors.Join(err, r.Close(), w.Close())
	}
	if err := w.Close(); err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	cmd.ExtraFiles = []*os.File{r}
	return cmd, func() { _ = r.Close() }, nil
}

// json runs a command and returns what it prints with --json.
func (d *demoRun) json(ctx context.Context, args ...string) ([]byte, error) {
	cmd, done, err := d.command(ctx, append(args, "--json"))
	if err != nil {
		return nil, err
	}
	defer done()
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("drawbridge %s: %w\n%s%s", strings.Join(args, " "), err, out.Bytes(), msg.Bytes())
	}
	return out.Bytes(), nil
}

// run runs a command and shows it with what it prints.
func (d *demoRun) run(ctx context.Context, args ...string) error {
	cmd, done, err := d.command(ctx, args)
	if err != nil {
		return err
	}
	defer done()
	d.say("$ drawbridge %s", d.short(args))
	out, err := cmd.CombinedOutput()
	d.say("%s", strings.TrimRight(string(out), "\n"))
	if err != nil {
		return fmt.Errorf("drawbridge %s: %w", args[0], err)
	}
	return nil
}

// short leaves out what is the same in every command.
func (d *demoRun) short(args []string) string {
	return strings.ReplaceAll(strings.Join(args, " "), d.work+string(os.PathSeparator), "")
}

// typed runs a command in a terminal of its own and types into it.
func (d *demoRun) typed(ctx context.Context, keys []keystroke, args ...string) error {
	cmd, done, err := d.command(ctx, args)
	if err != nil {
		return err
	}
	defer done()
	d.say("$ drawbridge %s", d.short(args))
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
	if err != nil {
		return err
	}
	defer func() { _ = tty.Close() }()
	seen, err := play(ctx, tty, keys)
	d.say("%s", strings.ReplaceAll(strings.Trim(seen, "\r\n"), "\r", ""))
	if werr := cmd.Wait(); werr != nil {
		return fmt.Errorf("drawbridge %s: %w", args[0], werr)
	}
	return err
}

// play answers prompts in their order and returns all that the terminal showed.
func play(ctx context.Context, tty io.ReadWriter, keys []keystroke) (string, error) {
	var seen strings.Builder
	from := 0
	buf := make([]byte, 4096)
	for {
		n, err := tty.Read(buf)
		seen.Write(buf[:n])
		if len(keys) > 0 && strings.HasSuffix(seen.String()[from:], keys[0].prompt) {
			text := keys[0].text
			if text == codeShown {
				m := shownCode.FindStringSubmatch(seen.String()[from:])
				if m == nil {
					return seen.String(), errors.New("the question shows no code")
				}
				text = m[1]
			}
			if _, err := io.WriteString(tty, text+"\n"); err != nil {
				return seen.String(), err
			}
			keys, from = keys[1:], seen.Len()
		}
		switch {
		case err == nil && ctx.Err() == nil:
		case errors.Is(err, io.EOF), errors.Is(err, syscall.EIO): // the program closed the terminal
			if len(keys) > 0 {
				return seen.String(), fmt.Errorf("it never asked %q", keys[0].prompt)
			}
			return seen.String(), nil
		default:
			return seen.String(), errors.Join(err, ctx.Err())
		}
	}
}

// poll asks until cond holds.
func poll(ctx context.Context, cond func() (bool, error)) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := cond()
		if ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
