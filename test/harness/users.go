package harness

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host/browser"
)

// A UsersBrowser is a browser as a user starts it, with remote debugging and
// with "Preload pages" switched off.
type UsersBrowser struct {
	Profile string
	cmd     *exec.Cmd
}

// StartUsersBrowser starts one that ends with the test.
func StartUsersBrowser(tb testing.TB) *UsersBrowser {
	tb.Helper()
	u := &UsersBrowser{Profile: tb.TempDir()}
	prefs := filepath.Join(u.Profile, "Default", "Preferences")
	if err := os.Mkdir(filepath.Dir(prefs), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(prefs, []byte(`{"net":{"network_prediction_options":2}}`), 0o600); err != nil {
		tb.Fatal(err)
	}
	u.Start(tb)
	tb.Cleanup(u.Kill)
	return u
}

// Start starts it, again if it was killed, and waits until it listens.
func (u *UsersBrowser) Start(tb testing.TB) {
	tb.Helper()
	path, err := browser.Find()
	if err != nil {
		tb.Fatal(err)
	}
	_ = os.Remove(filepath.Join(u.Profile, "DevToolsActivePort")) // of the one before
	u.cmd = exec.CommandContext(context.Background(), path,       //nolint:usetesting,gosec // the user's browser; it may be killed before, and is waited for
		"--headless", "--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
		"--remote-debugging-port=0", "--user-data-dir="+u.Profile, "about:blank")
	u.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := u.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.NewTimer(time.Minute)
	defer timeout.Stop()
	for {
		if _, err := browser.FindEndpoint(u.Profile); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-timeout.C:
			tb.Fatal("the browser never listened")
		}
	}
}

// Kill ends it without notice.
func (u *UsersBrowser) Kill() {
	_ = syscall.Kill(-u.cmd.Process.Pid, syscall.SIGKILL)
	_ = u.cmd.Wait()
}

// Attach joins it; for [Options].
func (u *UsersBrowser) Attach(ctx context.Context) (*browser.Browser, error) {
	return browser.Attach(ctx, browser.AttachOptions{Profile: u.Profile})
}
