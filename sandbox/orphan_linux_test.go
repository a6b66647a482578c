package sandbox

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

// playHost is a host that runs an endless guest and prints its worker's pid.
func playHost(dir string) {
	ctx := context.Background()
	wasm := wasmtest.Guest([]string{"read"}, wasmtest.Ask(0, "{}"), wasmtest.Loop()).Bytes()
	s, err := Open(ctx, Config{Dir: dir, Limits: Limits{GuestCPU: time.Hour, DataBytes: testDataBytes}})
	if err == nil {
		_, err = s.Compile(ctx, wasm)
	}
	var m *Module
	if err == nil {
		m, err = s.Module(wasm, []abi.Capability{"read"})
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		return
	}
	_, _ = m.Run(ctx, Call{Export: ExportCall, Calls: &fakeCalls{
		read: func(context.Context, []byte) ([]byte, error) {
			for w := range s.workers {
				_, _ = os.Stdout.WriteString(strconv.Itoa(w.proc.cmd.Process.Pid) + "\n")
			}
			return []byte(`{}`), nil
		},
	}})
}

// TestWorkerDiesWithItsHost kills a host while its guest spins, so that nobody
// is left to end the worker but the kernel.
func TestWorkerDiesWithItsHost(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "host", t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid, err2 := strconv.Atoi(strings.TrimSpace(line))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	worker, err := os.FindProcess(pid) // a handle, which no later process can be meant by
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = worker.Kill() })
	// The call has its answer and spins: it will not see its pipe close.
	poll(t, "the guest spinning", func() bool {
		u, ok := readUsage(pid)
		return ok && u.cpu > 200*time.Millisecond
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	poll(t, "the end of the worker", func() bool {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || strings.Contains(string(b), ") Z ") // reaped, or left to init
	})
}
