package platform_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// roleVar makes the test binary play another process.
const roleVar = "PLATFORM_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "":
		m.Run()
	case "lock":
		playLock(os.Args[1])
	case "daemon":
		playDaemon(os.Args[1])
	case "parent":
		playParent()
	case "wait":
		fmt.Fprintln(os.Stdout, os.Getpid())
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
}

// playLock takes the lock, says so, and holds it until its input ends.
func playLock(path string) {
	l, err := platform.Lock(background(), path, platform.LockInfo{PID: os.Getpid(), Version: "v-test", Socket: "/s"})
	if err != nil {
		fmt.Fprintln(os.Stdout, "refused:", err)
		return
	}
	fmt.Fprintln(os.Stdout, "locked")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = l // the kernel releases it
}

// daemonReport is what the daemon role tells whoever connects.
type daemonReport struct {
	PID, Session int
	TTY          string
	Dir          string
	Env          []string
	StdinEnds    bool
}

func playDaemon(socket string) {
	l, err := platform.Listen(background(), socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Fprintln(os.Stderr, "daemon is up")
	c, err := l.Accept()
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	self, _ := platform.Ancestors(os.Getpid())
	n, readErr := os.Stdin.Read(make([]byte, 1))
	dir, _ := os.Getwd()
	_ = json.NewEncoder(c).Encode(daemonReport{
		PID: os.Getpid(), Session: self[0].Session, TTY: self[0].TTY, Dir: dir,
		Env: os.Environ(), StdinEnds: n == 0 && readErr == io.EOF,
	})
}

// playParent starts a child that waits, and passes its id on.
func playParent() {
	cmd := exec.CommandContext(background(), os.Args[0])
	cmd.Env = []string{roleVar + "=wait"}
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	_ = cmd.Run()
}

// role starts the test binary in another role and returns its lines. The
// process ends with the test.
func role(t *testing.T, name string, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), roleVar+"="+name)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}

func line(t *testing.T, s *bufio.Scanner) string {
	t.Helper()
	if !s.Scan() {
		t.Fatalf("the other process ended without a word: %v", s.Err())
	}
	return s.Text()
}

func readReport(t *testing.T, c net.Conn) daemonReport {
	t.Helper()
	var r daemonReport
	if err := json.NewDecoder(c).Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r
}
