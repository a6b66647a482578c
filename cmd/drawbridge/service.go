package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

func (a *app) serviceCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "service", Short: "start the daemon with your session: a systemd user unit or a launchd agent"}
	cmd.AddCommand(
		&cobra.Command{
			Use: "install", Short: "write the service's file and start it", Args: cobra.NoArgs,
			Long: `Writes a systemd user unit (Linux) or a launchd agent (macOS) that runs
drawbridge serve in your session, and tells the service manager. Without it, the
first command starts the daemon. Where no service manager answers, the file is
written and the commands to run later are printed.`,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.installService(cmd.Context()) },
		},
		&cobra.Command{
			Use: "remove", Short: "stop the service and remove its file", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.removeService(cmd.Context()) },
		},
		&cobra.Command{
			Use: "status", Short: "say whether the service is installed and runs", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.serviceStatus(cmd.Context()) },
		},
	)
	return cmd
}

// A service is this user's service on this system.
type service struct {
	platform.ServiceManager
	file string
}

func (a *app) service() (service, error) {
	m, ok := platform.ServiceManagerOf(runtime.GOOS)
	if !ok {
		return service{}, abi.Errorf(abi.ErrUnsupportedAction, "service", "no service manager of %s is known", runtime.GOOS).WithHint("drawbridge serve")
	}
	s := service{m, m.File(a.getenv)}
	if s.file == "" {
		return s, abi.Errorf(abi.ErrInvalidArgs, "service", "there is no home directory to put the service's file in")
	}
	return s, nil
}

// content is what the file of a service of this program holds.
func (a *app) serviceContent(s service) (string, error) {
	entry, err := a.serverEntry("")
	if err != nil {
		return "", err
	}
	return s.Content(platform.Service{Program: entry.Command, Env: entry.Env}), nil
}

func (a *app) installService(ctx context.Context) error {
	s, err := a.service()
	if err != nil {
		return err
	}
	text, err := a.serviceContent(s)
	if err != nil {
		return err
	}
	dirs, err := a.dirs()
	if err != nil {
		return err
	}
	if info, held, err := platform.ReadLock(dirs.LockFile()); err != nil || held {
		return errors.Join(abi.Errorf(abi.ErrUnsupportedAction, "service", "a daemon runs already (process %d), and the service could not start", info.PID).
			WithHint("drawbridge stop, then drawbridge service install"), err)
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return fmt.Errorf("making the service's directory: %w", err)
	}
	if err := atomicfile.Write(s.file, []byte(text), 0o600); err != nil {
		return err
	}
	later := s.tell(ctx, s.Enable)
	a.show(serviceInstalled{s.file, len(later) == 0, later}, func(w io.Writer) {
		fmt.Fprintf(w, "wrote %s\n", s.file)
		for _, l := range later {
			fmt.Fprintf(w, "to be run in your session: %s\n", l)
		}
	})
	return nil
}

func (a *app) removeService(ctx context.Context) error {
	s, err := a.service()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(s.file); errors.Is(err, fs.ErrNotExist) {
		a.show(serviceRemoved{File: s.file, Later: []string{}}, func(w io.Writer) { fmt.Fprintln(w, "no service is installed") })
		return nil
	}
	later := s.tell(ctx, s.Disable)
	if len(later) > 0 { // what disables wants the file, which is about to go
		later = s.spell(s.Leave)
	}
	for _, path := range append(s.Links(s.file), s.file) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the service's file: %w", err)
		}
	}
	a.show(serviceRemoved{s.file, true, later}, func(w io.Writer) {
		fmt.Fprintf(w, "removed %s\n", s.file)
		for _, l := range later {
			fmt.Fprintf(w, "to be run in your session: %s\n", l)
		}
	})
	return nil
}

func (a *app) serviceStatus(ctx context.Context) error {
	s, err := a.service()
	if err != nil {
		return err
	}
	want, err := a.serviceContent(s)
	if err != nil {
		return err
	}
	st := serviceState{File: s.file}
	text, err := os.ReadFile(s.file)
	switch {
	case err == nil:
		st.Installed, st.Current = true, string(text) == want
		st.Running = s.command(ctx, s.Status).Run() == nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("reading the service's file: %w", err)
	}
	a.show(st, func(w io.Writer) {
		if !st.Installed {
			fmt.Fprintln(w, "not installed; the first command starts the daemon")
			return
		}
		row(w, "file", st.File)
		row(w, "running", map[bool]string{true: "yes", false: "no, or its manager does not say"}[st.Running])
		if !st.Current {
			row(w, "note", "it was written for another program or version: drawbridge service install")
		}
	})
	return nil
}

// managerTimeout bounds one command to the service manager.
const managerTimeout = 30 * time.Second

// tell runs commands of the service manager. It returns those that are still to be
// run, from the first that failed on: a machine may have no session now.
func (s service) tell(ctx context.Context, commands [][]string) (later []string) {
	for i, c := range commands {
		ctx, cancel := context.WithTimeout(ctx, managerTimeout)
		err := s.command(ctx, c).Run()
		cancel()
		if err == nil {
			continue
		}
		return s.spell(commands[i:])
	}
	return []string{}
}

// spell writes commands as a person types them.
func (s service) spell(commands [][]string) []string {
	lines := make([]string, 0, len(commands))
	for _, c := range commands {
		lines = append(lines, strings.Join(s.words(c), " "))
	}
	return lines
}

func (s service) command(ctx context.Context, words []string) *exec.Cmd {
	words = s.words(words)
	return exec.CommandContext(ctx, words[0], words[1:]...)
}

// words puts the user's id and the file into a command.
func (s service) words(template []string) []string {
	out := make([]string, len(template))
	for i, w := range template {
		out[i] = strings.ReplaceAll(strings.ReplaceAll(w, "UID", strconv.Itoa(os.Getuid())), "FILE", s.file)
	}
	return out
}
