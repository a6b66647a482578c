package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

const (
	callTimeout = time.Minute
	endTimeout  = 10 * time.Second // for a server to end after its input has
)

// A server is an MCP server that is measured.
type server struct {
	key     string // a word
	name    string
	version string
	argv    []string
	env     []string
	dir     string
	ways    []way

	daemon func() (int, error)         // the process behind the one that was started; may be nil
	after  func(context.Context) error // ends it; may be nil
}

// A way is how a server's client gets the rows of a page.
type way struct {
	tool     string
	args     map[string]any
	open     *call          // goes to the page before; nil if the tool does it
	loadArgs map[string]any // has the tool go to the page; for those without open
}

// A call is a tools/call.
type call struct {
	tool string
	args map[string]any
}

// read reads the page where the tab is.
func (w way) read() []call { return []call{{w.tool, w.args}} }

// load goes to the page and reads it.
func (w way) load() []call {
	if w.open != nil {
		return []call{*w.open, {w.tool, w.args}}
	}
	return []call{{w.tool, w.loadArgs}}
}

// A session is one server from its start to its end.
type session struct {
	server *server
	cmd    *exec.Cmd
	rpc    *rpcClient
	said   *lastBytes // on standard error
}

// start starts a server and returns when it has told its tools.
func (s *server) start(ctx context.Context) (*session, error) {
	in := &session{server: s, said: &lastBytes{}}
	in.cmd = exec.Command(s.argv[0], s.argv[1:]...) //nolint:noctx // end ends it, in order
	in.cmd.Dir, in.cmd.Env, in.cmd.Stderr = s.dir, s.env, in.said
	in.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in.cmd.WaitDelay = time.Second // a browser that outlives it may hold its standard error
	w, err := in.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r, err := in.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := in.cmd.Start(); err != nil {
		return nil, err
	}
	in.rpc = newRPC(r, w)
	if err := in.hello(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%w; it said: %q", err, in.said.String()), in.end(ctx))
	}
	return in, nil
}

func (in *session) hello(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := in.rpc.request(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "bench", "version": "1"},
	})
	if err != nil {
		return err
	}
	if err := in.rpc.notify("notifications/initialized"); err != nil {
		return err
	}
	_, err = in.rpc.request(ctx, "tools/list", map[string]any{})
	return err
}

// calls makes calls in their order and returns the last one's answer.
func (in *session) calls(ctx context.Context, list []call) (answer, error) {
	var a answer
	for _, c := range list {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		line, err := in.rpc.request(ctx, "tools/call", map[string]any{"name": c.tool, "arguments": c.args})
		cancel()
		if err == nil {
			a, err = parseAnswer(line)
		}
		if err != nil {
			return answer{}, fmt.Errorf("%s: %w", c.tool, err)
		}
	}
	return a, nil
}

// roots are the processes of a running server, without their children.
func (in *session) roots() ([]int, error) {
	pids := []int{in.cmd.Process.Pid}
	if in.server.daemon == nil {
		return pids, nil
	}
	pid, err := in.server.daemon()
	return append(pids, pid), err
}

// end closes the server's input and waits for its end. What is left of it and its
// browser is killed.
func (in *session) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	var left []process
	if roots, err := in.roots(); err == nil {
		left, _ = descendants(procDir, roots)
	}
	_ = in.rpc.close()
	kill := time.AfterFunc(endTimeout, func() { _ = syscall.Kill(-in.cmd.Process.Pid, syscall.SIGKILL) })
	_ = in.cmd.Wait() // how it ends is not what is measured
	kill.Stop()
	var err error
	if in.server.after != nil {
		err = in.server.after(ctx)
	}
	return errors.Join(err, gone(left))
}

// gone waits for the end of processes that are about to, which lets a browser remove
// its profile, and kills those that don't.
func gone(list []process) error {
	alive := func(p process) bool {
		now, err := readProcess(procDir, p.pid)
		return err == nil && now.started == p.started && now.rss > 0 // one without memory waits to be reaped by its parent
	}
	timeout := time.NewTimer(endTimeout)
	defer timeout.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting && slices.ContainsFunc(list, alive); {
		select {
		case <-tick.C:
		case <-timeout.C:
			waiting = false
		}
	}
	var err error
	for _, p := range list {
		if alive(p) {
			err = errors.Join(err, killProcess(p.pid))
		}
	}
	return err
}

func killProcess(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
