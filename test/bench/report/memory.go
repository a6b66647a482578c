package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// memory is what the daemon holds when it has started and nothing was called:
// no browser and no worker runs then.
func memory(ctx context.Context) (_ []line, err error) {
	home, err := os.MkdirTemp("", "drawbridge-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	cmd := exec.CommandContext(ctx, ".bin/drawbridge", "serve", "--port", "0")
	cmd.Env = append(os.Environ(), "DRAWBRIDGE_HOME="+home)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}()
	status := exec.CommandContext(ctx, ".bin/drawbridge", "tools", "--json")
	status.Env = cmd.Env
	if out, err := retry(ctx, status); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	kib, err := rss(cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	return []line{{What: "daemon, idle", Ours: float64(kib) / 1024, Unit: "MiB", Note: "resident memory, no browser and no worker running"}}, nil
}

// retry runs a command until the daemon answers it.
func retry(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		again := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
		again.Env = cmd.Env
		out, err := again.CombinedOutput()
		if err == nil {
			return out, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return out, errors.Join(err, ctx.Err())
		}
	}
}

// rss is a process's resident memory in KiB, on Linux.
func rss(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for l := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(l, "VmRSS:"); ok {
			return strconv.Atoi(strings.Fields(rest)[0])
		}
	}
	return 0, errors.New("no VmRSS in /proc")
}
