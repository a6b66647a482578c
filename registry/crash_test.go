package registry

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// These tests run changes of one directory in processes of their own and kill them
// with a signal that nothing can handle: after a number of steps, and at any moment.

// The environment of a helper, and of who wants more rounds than a few.
const (
	crashDir    = "DRAWBRIDGE_CRASH_DIR"    // of the client; makes the process a helper
	crashNow    = "DRAWBRIDGE_CRASH_NOW"    // seconds since 1970
	crashSeed   = "DRAWBRIDGE_CRASH_SEED"   // what the helper does; or what all of them do
	crashStep   = "DRAWBRIDGE_CRASH_STEP"   // the step before which it dies; 0 is none
	crashOps    = "DRAWBRIDGE_CRASH_OPS"    // after how many changes it ends
	crashRounds = "DRAWBRIDGE_CRASH_ROUNDS" // how often each test kills
	crashOrigin = "DRAWBRIDGE_CRASH_ORIGIN" // of the registry, if it is what comes and goes
	crashOwner  = "DRAWBRIDGE_CRASH_OWNER"  // the key that it is pinned to then
)

func envNumber(name string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// TestCrashHelper is the process that is killed. It says before each change which
// version it will leave active, and after it which one is.
func TestCrashHelper(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("it is run by other tests")
	}
	now := time.Unix(envNumber(crashNow, 0), 0)
	c, err := New(Config{Dir: dir, Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	steps := envNumber(crashStep, 0)
	c.step = func(string) error {
		if steps--; steps == 0 {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			if err == nil {
				select {} // it takes a moment to die
			}
			return err
		}
		return nil
	}
	rng := rand.New(rand.NewPCG(uint64(envNumber(crashSeed, 0)), 1))
	for range envNumber(crashOps, 1<<40) {
		err := error(nil)
		if origin := os.Getenv(crashOrigin); origin != "" {
			err = comeAndGo(t, c, origin, signing.Fingerprint(os.Getenv(crashOwner)))
		} else {
			err = change(t, c, rng)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// comeAndGo adds a registry if it isn't there, fetches it, and removes it.
func comeAndGo(t *testing.T, c *Client, origin string, owner signing.Fingerprint) error {
	t.Helper()
	_, err := c.Refresh(t.Context(), "main")
	if errors.Is(err, abi.ErrNotFound) {
		_, err = c.AddRegistry(t.Context(), origin, owner)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "seen")
	return c.RemoveRegistry("main")
}

// change makes one random change.
func change(t *testing.T, c *Client, rng *rand.Rand) error {
	t.Helper()
	list, err := c.Installed()
	if err != nil {
		return err
	}
	previous := "none"
	if len(list) > 0 && list[0].Previous != nil {
		previous = list[0].Previous.Version
	}
	o := InstallOptions{Consent: yes, AllowDowngrade: true}
	switch rng.IntN(8) {
	case 0:
		fmt.Fprintln(os.Stdout, "try none")
		err = c.Uninstall("acme/tracker")
	case 1, 2:
		fmt.Fprintln(os.Stdout, "try", previous)
		_, err = c.Rollback(t.Context(), "acme/tracker", o)
	case 3:
		_, err = c.Pin("acme/tracker", rng.IntN(2) == 0)
	default:
		ref := tracker
		ref.Constraint = crashVersions()[rng.IntN(len(crashVersions()))]
		fmt.Fprintln(os.Stdout, "try", ref.Constraint)
		if rng.IntN(2) == 0 {
			_, err = c.Install(t.Context(), ref, o)
			break
		}
		var ready *Prepared
		if ready, err = c.Prepare(t.Context(), ref, o); err == nil {
			err = c.ActivateAll([]*Prepared{ready}, nil)
		}
	}
	if err != nil && !errors.Is(err, abi.ErrNotFound) && !errors.Is(err, abi.ErrConfirmationRequired) {
		return err
	}
	if list, err = c.Installed(); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "is", active(list))
	return nil
}

func crashVersions() []string { return []string{"1.0.0", "1.1.0", "1.2.0"} }

func active(list []Entry) string {
	if len(list) == 0 {
		return "none"
	}
	return list[0].Version
}

// crashSite is a registry with all versions, and a client's directory.
func crashSite(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	for _, v := range crashVersions()[1:] {
		f.publish(v)
	}
	f.mustInstall(Ref{Namespace: "acme", Name: "tracker", Constraint: "1.0.0"})
	return f
}

// helper makes a process that changes f's directory.
func (f *fixture) helper(ctx context.Context, seed, step, ops int64) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestCrashHelper$")
	for name, n := range map[string]int64{crashSeed: seed, crashStep: step, crashOps: ops, crashNow: f.now.Unix()} {
		cmd.Env = append(cmd.Env, name+"="+strconv.FormatInt(n, 10))
	}
	cmd.Env = append(append(os.Environ(), cmd.Env...), crashDir+"="+f.client.cfg.Dir)
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = time.Second // a Git that it leaves behind may hold the pipe
	return cmd, out
}

// wantWhole checks that what is installed is whole and one of versions, and that
// everything still works.
func (f *fixture) wantWhole(versions ...string) {
	f.t.Helper()
	c, err := New(Config{Dir: f.client.cfg.Dir, Clock: f.clock}) // as a host that starts now
	f.must(err)
	list, err := c.Installed()
	f.must(err)
	if len(versions) > 0 && !strings.Contains(" "+strings.Join(versions, " ")+" ", " "+active(list)+" ") {
		f.t.Errorf("active is %q, want one of %q", active(list), versions)
	}
	for _, e := range list {
		l, err := c.Load(e.Plugin())
		if err != nil || !bytes.Equal(l.Wasm, wasmOf(e.Version)) || l.Release.Version != e.Version {
			f.t.Errorf("version %s is not whole: %v", e.Version, err)
		}
		if e.Previous == nil {
			continue
		}
		if p, err := c.load(*e.Previous); err != nil || !bytes.Equal(p.Wasm, wasmOf(e.Previous.Version)) {
			f.t.Errorf("the version before, %s, is not whole: %v", e.Previous.Version, err)
		}
	}
	// A Git that outlives the process that was killed may make its directory once more.
	var left []string
	for range 5 {
		if _, err := c.Updates(f.t.Context(), nil); err != nil {
			f.t.Errorf("looking for updates: %v", err)
		}
		if left, _ = filepath.Glob(filepath.Join(c.cfg.Dir, ".scratch-*")); len(left) == 0 {
			return
		}
	}
	f.t.Errorf("left behind: %v", left)
}

// said returns what the helper last said was active, and what it tried since.
func said(out *bytes.Buffer, before string) []string {
	is, try := before, ""
	for in := bufio.NewScanner(out); in.Scan(); {
		if v, ok := strings.CutPrefix(in.Text(), "is "); ok {
			is, try = v, ""
		} else if v, ok := strings.CutPrefix(in.Text(), "try "); ok {
			try = v
		}
	}
	if try == "" {
		return []string{is}
	}
	return []string{is, try}
}

// crashes returns the rounds of a test and what decides about them, and says how to
// run the same again.
func crashes(t *testing.T) (int64, *rand.Rand) {
	t.Helper()
	seed := envNumber(crashSeed, rand.Int64N(1<<40))
	t.Logf("again: %s=%d go test ./registry -run '^%s$'", crashSeed, seed, t.Name())
	return envNumber(crashRounds, 2), rand.New(rand.NewPCG(uint64(seed), 0))
}

// A change that is killed before any of its steps is not made, or is made whole.
func TestKilledAtAStep(t *testing.T) {
	t.Parallel()
	f := crashSite(t)
	rounds, rng := crashes(t)
	for range rounds * 2 {
		list, err := f.client.Installed()
		f.must(err)
		cmd, out := f.helper(t.Context(), rng.Int64N(1<<40), 1+rng.Int64N(14), 1<<40)
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("the helper was not killed: %v\n%s", err, out)
		}
		f.wantWhole(said(out, active(list))...)
	}
}

// The same at any moment, also between a step and the next.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	f := crashSite(t)
	rounds, rng := crashes(t)
	for range rounds {
		list, err := f.client.Installed()
		f.must(err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(100+rng.Int64N(700))*time.Millisecond)
		cmd, out := f.helper(ctx, rng.Int64N(1<<40), 0, 1<<40)
		err = cmd.Run()
		cancel()
		if err == nil || cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("the helper was not killed: %v\n%s", err, out)
		}
		f.wantWhole(said(out, active(list))...)
	}
}

// Two processes at once leave one lock file that is whole; so does one beside
// another that is killed.
func TestTwoProcessesAtOnce(t *testing.T) {
	t.Parallel()
	f := crashSite(t)
	_, rng := crashes(t)
	for _, step := range []int64{0, 1 + rng.Int64N(20)} {
		var both sync.WaitGroup
		for i := range int64(2) {
			cmd, out := f.helper(t.Context(), rng.Int64N(1<<40), step*i, 4)
			both.Go(func() {
				err := cmd.Run()
				killed := step*i > 0 && cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == -1
				if err != nil && !killed {
					t.Errorf("a helper: %v\n%s", err, out)
				}
			})
		}
		both.Wait()
		f.wantWhole()
	}
}
