package conformance

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/test/mcpfixture"
	"github.com/drawbridge-mcp/drawbridge/test/nodejs"
)

var (
	whole   = flag.Bool("conformance", false, "run the suites (make conformance)")
	repeats = flag.Int("repeats", 50, "how often progress and logging are run again")
)

// A run is one way to run the suite, and what comes of it.
type run struct {
	name, release string
	args          []string
	want          counts
	// unscored are scenarios that the suite runs and does not score: those of an
	// extension that is not served. They are printed.
	unscored string
}

func runs() []run {
	return []run{
		{"0.1.16 all", "conformance-stable", []string{"--suite", "all"}, counts{scenarios: 32, passed: 43}, ""},
		{"0.2.0-alpha.12 2025-11-25", "conformance-next", []string{"--requirements", "2025-11-25"}, counts{scenarios: 33, passed: 80}, ""},
		{"0.2.0-alpha.12 2026-07-28", "conformance-next", []string{"--requirements", "2026-07-28"}, counts{scenarios: 40, passed: 152}, "tasks-"},
	}
}

// patience is for one run of a suite.
const patience = 3 * time.Minute

func TestSuites(t *testing.T) {
	if !*whole {
		t.Skip("make conformance runs the suites")
	}
	s := newSuite(t)
	for _, r := range runs() {
		t.Run(r.name, func(t *testing.T) {
			got, err := s.run(t, r.release, r.args...)
			if err != nil {
				t.Errorf("the suite itself: %v", err)
			}
			scored, unscored := got.split(r.unscored)
			t.Logf("%s: %s", r.name, scored.count())
			for _, line := range scored.notable() {
				t.Log(line)
			}
			if len(unscored) > 0 {
				t.Logf("not scored: %s: %s", unscored.count(), strings.Join(slices.Sorted(maps.Keys(unscored)), " "))
			}
			for _, line := range scored.failures() {
				t.Error(line)
			}
			if n := scored.count(); n.scenarios != r.want.scenarios || n.passed != r.want.passed || n.failed != 0 {
				t.Errorf("got %s, want %s", n, r.want)
			}
		})
	}
}

// What is sent while a call runs arrives, whole and before the result, each time.
func TestProgressAndLoggingEachTime(t *testing.T) {
	if !*whole {
		t.Skip("make conformance runs the suites")
	}
	s := newSuite(t)
	for _, r := range []struct{ scenario, revision string }{
		{"tools-call-with-progress", "2025-11-25"},
		{"tools-call-with-progress", "2026-07-28"},
		{"tools-call-with-logging", "2025-11-25"}, // the new era has no such scenario: see TestLoggingModern
	} {
		t.Run(r.scenario+" "+r.revision, func(t *testing.T) {
			passed := s.repeat(t, *repeats, "--scenario", r.scenario, "--spec-version", r.revision)
			t.Logf("%d of %d", passed, *repeats)
			if passed != *repeats {
				t.Errorf("%d of %d passed", passed, *repeats)
			}
		})
	}
}

// A suite is the installed suites and a server for them.
type suite struct{ node, modules, url string }

func newSuite(t *testing.T) suite {
	t.Helper()
	s := suite{node: nodejs.Node(t), modules: nodejs.Packages(t, "conformance")}
	_, server, err := mcpfixture.New()
	if err != nil {
		t.Fatal(err)
	}
	url, stop, err := mcpfixture.ServeHTTP(t.Context(), server, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	s.url = url
	return s
}

// run runs a suite and reads its results.
func (s suite) run(t *testing.T, release string, args ...string) (results, error) {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	program := filepath.Join(s.modules, release, "dist", "index.js")
	cmd := exec.CommandContext(ctx, s.node, append([]string{program, "server", "--url", s.url, "-o", dir}, args...)...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	out, runErr := cmd.CombinedOutput()
	got, err := readResults(os.DirFS(dir))
	if err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
	if runErr != nil {
		runErr = fmt.Errorf("%w\n%.4000s", runErr, tail(string(out), 4000))
	}
	return got, runErr
}

// repeat runs one scenario n times, two at a time, and returns how often all of its
// checks passed.
func (s suite) repeat(t *testing.T, n int, args ...string) (passed int) {
	t.Helper()
	turns := make(chan struct{}, 2)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range n {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			got, err := s.run(t, "conformance-next", args...)
			if c := got.count(); err == nil && c.passed > 0 && c.failed == 0 {
				mu.Lock()
				defer mu.Unlock()
				passed++
				return
			}
			t.Errorf("%v: %s", err, strings.Join(got.failures(), "; "))
		})
	}
	wg.Wait()
	return passed
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }
