package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// going is a plugin that has and is to have connectors, each named by one letter.
func going(name, had, has string, kind string) *moving {
	split := func(s string) []string { return strings.Split(s, "") }
	m := &moving{step: SyncStep{Subject: name}, had: split(had), has: split(has), moves: kind != "stays"}
	if kind != "stays" && kind != "gone" {
		m.want = &registry.TeamPlugin{}
	}
	if kind == "fails" {
		m.err = errors.New("not fetched")
	}
	if had == "" {
		m.had = nil
	}
	if has == "" {
		m.has = nil
	}
	return m
}

// A connector may go from one plugin to another, also back and forth and around. What
// would be there twice in the end is refused, and whatever counted on what is refused.
func TestSettle(t *testing.T) {
	for name, tt := range map[string]struct {
		all     []*moving
		refused string
	}{
		"one moves":                  {[]*moving{going("a", "", "x", "to"), going("b", "xy", "y", "to")}, ""},
		"two change places":          {[]*moving{going("a", "x", "y", "to"), going("b", "y", "x", "to")}, ""},
		"three go around":            {[]*moving{going("a", "x", "y", "to"), going("b", "y", "z", "to"), going("c", "z", "x", "to")}, ""},
		"from one that goes":         {[]*moving{going("a", "", "x", "to"), going("b", "x", "", "gone")}, ""},
		"from one that stays":        {[]*moving{going("a", "", "x", "to"), going("b", "x", "", "stays")}, "a"},
		"from one that fails":        {[]*moving{going("a", "", "x", "to"), going("b", "xy", "y", "fails")}, "a"},
		"to two":                     {[]*moving{going("a", "", "x", "to"), going("b", "", "x", "to")}, "a b"},
		"to one, and another has it": {[]*moving{going("a", "", "x", "to"), going("b", "x", "x", "to")}, "a"},
		"a ring that breaks":         {[]*moving{going("a", "x", "y", "to"), going("b", "y", "z", "to"), going("c", "z", "x", "fails")}, "a b"},
		"others go on":               {[]*moving{going("a", "", "x", "to"), going("b", "x", "", "stays"), going("c", "", "z", "to")}, "a"},
	} {
		failed := map[*moving]bool{}
		for _, m := range tt.all {
			failed[m] = m.err != nil
		}
		settle(tt.all)
		var refused []string
		seen := map[string]string{}
		for _, m := range tt.all {
			if m.err != nil && !failed[m] {
				refused = append(refused, m.step.Subject)
				if e := Safe(m.err); e.Code != abi.ErrInvalidArgs || e.Hint == "" {
					t.Errorf("%s: %v, with the hint %q", name, e, e.Hint)
				}
			}
			for _, id := range m.ids() {
				if seen[id] != "" {
					t.Errorf("%s: connector %q is in %s and in %s", name, id, seen[id], m.step.Subject)
				}
				seen[id] = m.step.Subject
			}
		}
		if got := strings.Join(refused, " "); got != tt.refused {
			t.Errorf("%s: refused %q, want %q", name, got, tt.refused)
		}
	}
}

// What is set is replaced, and every change is told.
func TestSettingChanges(t *testing.T) {
	h := &Host{redact: redact.New()}
	before := map[string]string{"same": "1", "other": "1", "gone": "1", "api_token": "s3cret"}
	after := map[string]string{"same": "1", "other": "2", "empty": "", "api_token": "s4cret"}
	want := "[{api_token changed   true} {empty set   false} {gone removed 1  false} {other changed 1 2 false}]"
	if got := fmt.Sprint(h.settingChanges(before, after)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := h.settingChanges(before, before); len(got) != 0 {
		t.Errorf("nothing is another: %v", got)
	}
}

var exported = abi.Release{
	Namespace: "acme", Name: "tracker", Version: "1.1.0", Category: abi.CategoryConnector, ABI: abi.VersionRange{Min: abi.Version, Max: abi.Version},
	Connectors: []abi.Connector{{
		ID: "tracker", BaseURL: "{base_url}", Origins: []string{"{base_url}/*"},
		Settings: []abi.Setting{{Name: "base_url", Type: abi.SettingURL, Required: true}, {Name: "rows", Type: abi.SettingInteger}},
	}},
}

// What an update dropped stays in the settings file and goes into no lock file: each
// machine would refuse it.
func TestExportable(t *testing.T) {
	kept := map[string]string{"base_url": "https://tracker.example", "old": "x", "rows": "many"}
	declared, left := exportable(exported, kept)
	if len(declared) != 1 || declared["base_url"] != kept["base_url"] {
		t.Errorf("exported: %v", declared)
	}
	if err := fits(exported, declared); err != nil {
		t.Errorf("what is exported is refused: %v", err)
	}
	want := "[{acme/tracker 1.1.0 old this version has no such setting} {acme/tracker 1.1.0 rows this version does not take its value}]"
	if got := fmt.Sprint(left); got != want {
		t.Errorf("left out: %s", got)
	}
	for name, settings := range map[string]map[string]string{
		"undeclared": {"base_url": "https://tracker.example", "old": "x"}, "missing": {}, "no number": {"base_url": "https://tracker.example", "rows": "many"},
	} {
		if err := fits(exported, settings); !errors.Is(err, abi.ErrInvalidArgs) || !strings.Contains(Safe(err).Hint, "lock export") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A registry that is silent is spared while its last snapshot is good. One that is
// wrong isn't.
func TestSilentRegistryIsGood(t *testing.T) {
	now := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	client, err := registry.New(registry.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	state := fmt.Sprintf(`{"expires":%q,"format":1,"namespaces":{},"pinned":"0123456789abcdef0123456789abcdef01234567","registry":"team",`+
		`"revocations":1,"revoked_artifacts":[],"revoked_keys":[],"root":1,"root_sha256":"%064d","snapshot":3,"snapshot_keys":[],`+
		`"snapshot_sha256":"%064d","type":"drawbridge-registry-state","url":"https://git.example/x.git"}`, now.Format(time.RFC3339), 1, 2)
	path := filepath.Join(dir, "registries", "x", "state.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(state), 0o600)); err != nil {
		t.Fatal(err)
	}
	silent, wrong := abi.Errorf(abi.ErrTimeout, "", "no answer"), abi.Errorf(abi.ErrUntrusted, "", "older")
	for name, tt := range map[string]struct {
		id  string
		at  time.Time
		why error
		ok  bool
	}{
		"silent": {"team", now.Add(-time.Second), silent, true}, "expired": {"team", now, silent, false},
		"wrong": {"team", now.Add(-time.Second), wrong, false}, "not there": {"other", now.Add(-time.Second), silent, false},
	} {
		s := &syncing{host: &Host{opts: Options{Registry: client, Now: func() time.Time { return tt.at }}}}
		if got := s.good(tt.id, tt.why); got != tt.ok {
			t.Errorf("%s: %t", name, got)
		}
	}
}
