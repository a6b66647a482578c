package browser_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/browser/browsertest"
)

// A users is a browser as a user starts it, with remote debugging.
type users struct {
	dir string
	cmd *exec.Cmd
}

// startUsers starts one on a profile and waits until it listens.
func startUsers(tb testing.TB, dir string) *users {
	tb.Helper()
	path, err := browser.Find()
	if err != nil {
		tb.Fatal(err)
	}
	port := filepath.Join(dir, "DevToolsActivePort")
	_ = os.Remove(port) // of one that was killed
	u := &users{dir: dir}
	args := []string{
		"--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
		"--remote-debugging-port=0", "--user-data-dir=" + dir, "about:blank",
	}
	if os.Getenv("DRAWBRIDGE_HEADED") == "" { // with a screen a tab in no window behaves otherwise
		args = append(args, "--headless")
	}
	u.cmd = exec.CommandContext(context.Background(), path, args...) //nolint:usetesting // a test may end it before, and waits for it
	u.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	u.cmd.Env = append(os.Environ(), "HOME="+dir)
	if err := u.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(u.kill)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.NewTimer(time.Minute)
	defer timeout.Stop()
	for {
		if _, err := browser.FindEndpoint(dir); err == nil {
			return u
		}
		select {
		case <-tick.C:
		case <-timeout.C:
			tb.Fatal("the browser never listened")
		}
	}
}

// downloads is where it stores what its user downloads.
func (u *users) downloads() string { return filepath.Join(u.dir, "Downloads") }

func (u *users) kill() {
	_ = syscall.Kill(-u.cmd.Process.Pid, syscall.SIGKILL)
	_ = u.cmd.Wait()
}

// quietProfile is a profile in which "Preload pages" is off.
func quietProfile(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := browser.QuietPreferences(dir); err != nil {
		tb.Fatal(err)
	}
	return dir
}

func attach(ctx context.Context, tb testing.TB, o browser.AttachOptions) *browser.Browser {
	tb.Helper()
	o.Logger = logger()
	b, err := browser.Attach(ctx, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = b.Close() })
	return b
}

// TestAttach runs the suite on a browser that was attached to, with another
// client attached to it as well.
func TestAttach(t *testing.T) {
	u := startUsers(t, quietProfile(t))
	b := attach(deadline(t), t, browser.AttachOptions{Profile: u.dir})
	other := attach(deadline(t), t, browser.AttachOptions{Profile: u.dir})
	browsertest.Run(t, browsertest.Subject{
		Browser: b, Attached: true, Whole: long(), Long: long(), Foreign: foreign(other), Tabs: tabs(other),
		Crash: (*browser.Page).Crash, Downloads: u.downloads(),
		Fresh: func(ctx context.Context, t *testing.T) browsertest.Life {
			t.Helper()
			own := startUsers(t, quietProfile(t)) //nolint:contextcheck // a user's browser outlives a call
			b, err := browser.Attach(ctx, browser.AttachOptions{Profile: own.dir, Logger: logger()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = b.Close() })
			return browsertest.Life{Browser: b, Kill: own.kill, Again: func(ctx context.Context, t *testing.T) *browser.Browser {
				t.Helper()
				startUsers(t, own.dir) //nolint:contextcheck // as above
				return attach(ctx, t, browser.AttachOptions{Profile: own.dir})
			}}
		},
	})
}
