package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// A check is one line of the suite's results.
type check struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Error  string `json:"errorMessage"`
}

// results are the checks of each scenario that was run.
type results map[string][]check

// folder is how the suite names a scenario's folder.
var folder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// readResults reads what the suite wrote: a folder for each scenario.
func readResults(dir fs.FS) (results, error) {
	names, err := fs.Glob(dir, "*/checks.json")
	if err != nil {
		return nil, err
	}
	out := results{}
	for _, name := range names {
		m := folder.FindStringSubmatch(strings.TrimSuffix(name, "/checks.json"))
		if m == nil {
			return nil, fmt.Errorf("unknown results %q", name)
		}
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		var checks []check
		if err := json.Unmarshal(data, &checks); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		out[m[1]] = append(out[m[1]], checks...)
	}
	if len(out) == 0 {
		return nil, errors.New("the suite wrote no results")
	}
	return out, nil
}

// split takes out the scenarios that begin with prefix; none if that is empty.
func (r results) split(prefix string) (rest, taken results) {
	rest, taken = results{}, results{}
	for name, checks := range r {
		if prefix != "" && strings.HasPrefix(name, prefix) {
			taken[name] = checks
		} else {
			rest[name] = checks
		}
	}
	return rest, taken
}

// counts are scenarios and their checks by outcome.
type counts struct{ scenarios, passed, failed, warned int }

func (c counts) String() string {
	return fmt.Sprintf("%d checks passed, %d failed, %d warned, in %d scenarios", c.passed, c.failed, c.warned, c.scenarios)
}

func (r results) count() counts {
	c := counts{scenarios: len(r)}
	for _, checks := range r {
		for _, k := range checks {
			switch k.Status {
			case "SUCCESS":
				c.passed++
			case "WARNING":
				c.warned++
			case "SKIPPED", "INFO": // no verdict
			default: // FAILURE, and what is not known here
				c.failed++
			}
		}
	}
	return c
}

// failures words each failed check.
func (r results) failures() []string {
	return r.words(func(status string) bool {
		return !slices.Contains([]string{"SUCCESS", "WARNING", "SKIPPED", "INFO"}, status)
	})
}

// notable words what is neither a success nor a failure.
func (r results) notable() []string {
	return r.words(func(status string) bool { return slices.Contains([]string{"WARNING", "SKIPPED"}, status) })
}

func (r results) words(of func(status string) bool) []string {
	var out []string
	for name, checks := range r {
		for _, k := range checks {
			if of(k.Status) {
				out = append(out, fmt.Sprintf("%s: %s: %s %s", k.Status, name, k.ID, k.Error))
			}
		}
	}
	slices.Sort(out)
	return out
}
