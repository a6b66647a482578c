//go:build linux

package platform_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

func TestAncestors(t *testing.T) {
	parent, out := role(t, "parent")
	pid, err := strconv.Atoi(line(t, out))
	if err != nil {
		t.Fatal(err)
	}
	got, err := platform.Ancestors(pid)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) < 3 || got[0].PID != pid || got[1].PID != parent.Process.Pid || got[2].PID != os.Getpid() {
		t.Fatalf("ancestry of %d is %+v", pid, got)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range got[:3] {
		if p.Exe != exe || p.StartTime == 0 {
			t.Errorf("process %+v", p)
		}
	}
	client, err := platform.ClientOf(pid)
	if err != nil || client.PID != parent.Process.Pid {
		t.Errorf("client is %+v, %v", client, err)
	}
}

func TestAncestorsOfNobody(t *testing.T) {
	cmd, out := role(t, "wait")
	line(t, out)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for _, pid := range []int{cmd.Process.Pid, 0, -1, 1 << 30} {
		if got, err := platform.Ancestors(pid); err == nil {
			t.Errorf("ancestry of %d is %+v", pid, got)
		}
	}
}

func TestHasTerminal(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=wait")
	term, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = term.Close()
	}()
	line(t, bufio.NewScanner(term))
	has, err := platform.HasTerminal(cmd.Process.Pid)
	if err != nil || !has {
		t.Errorf("in a terminal: %v, %v", has, err)
	}
	got, err := platform.Ancestors(cmd.Process.Pid)
	if err != nil || !strings.HasPrefix(got[0].TTY, "pts/") || got[0].Session != cmd.Process.Pid {
		t.Errorf("in a terminal: %+v, %v", got[0], err)
	}
}
