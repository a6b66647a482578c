package origin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A wptCase is one entry of the web platform tests' urltestdata.json.
type wptCase struct {
	Input    string
	Base     string
	Failure  bool
	Protocol string
	Username string
	Password string
	Hostname string
	Port     string
	Pathname string
	Search   string
	Hash     string
}

// wptExceptions are the inputs on which ParseURL is allowed to differ from a
// browser, with the reason. All are refused, none gets another host.
func wptExceptions() map[string]string {
	const undecodable = "the label is no valid Punycode: browsers pass it on, no registry has it"
	return map[string]string{
		"http://a.b.c.xn--pokxncvks":  undecodable,
		"http://a.b.c.XN--pokxncvks":  undecodable,
		"http://a.b.c.Xn--pokxncvks":  undecodable,
		"http://10.0.0.xn--pokxncvks": undecodable,
		"http://10.0.0.XN--pokxncvks": undecodable,
		"http://10.0.0.xN--pokxncvks": undecodable,
		"https://xn--/":               "an A-label that encodes nothing: browsers pass it on, no registry has it",
	}
}

// corpus reads a file of the public URL data, or skips.
func corpus(t *testing.T, name string, v any) {
	t.Helper()
	dir := os.Getenv("DRAWBRIDGE_SHARED")
	if dir == "" {
		dir = filepath.Join(root(t), "..", "shared")
	}
	data, err := os.ReadFile(filepath.Join(dir, "vectors", "url", name))
	if err != nil {
		t.Skipf("not run: the web platform tests' %s (set DRAWBRIDGE_SHARED to the folder that holds vectors/url)", name)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// absolute returns the cases whose result does not depend on a base URL.
func absolute(t *testing.T) []wptCase {
	t.Helper()
	var entries []json.RawMessage
	corpus(t, "urltestdata.json", &entries)
	scheme := regexp.MustCompile(`(?i)^[\x00-\x20]*(https?):([/\\]*)`)
	var cases []wptCase
	for _, e := range entries {
		var c wptCase
		if e[0] != '{' {
			continue // a comment
		}
		if err := json.Unmarshal(e, &c); err != nil {
			t.Fatal(err)
		}
		m := scheme.FindStringSubmatch(c.Input)
		if m == nil || len(m[2]) < 2 && strings.HasPrefix(c.Base, strings.ToLower(m[1])+":") {
			continue
		}
		cases = append(cases, c)
	}
	return cases
}

func TestURLDecisionsEqualBrowsers(t *testing.T) {
	cases, exceptions := absolute(t), wptExceptions()
	if len(cases) < 336 {
		t.Fatalf("%d cases, want at least 336", len(cases))
	}
	stricter := 0
	for _, c := range cases {
		u, err := ParseURL(c.Input)
		switch {
		case c.Failure:
			if err == nil {
				t.Errorf("%q: accepted as %s, browsers refuse it", c.Input, u)
			}
		case exceptions[c.Input] != "":
			if err == nil {
				t.Errorf("%q is no exception any more (%s)", c.Input, exceptions[c.Input])
			}
			delete(exceptions, c.Input)
		case c.Username+c.Password != "" || strings.ContainsFunc(c.Input, isControl):
			stricter++
			if err == nil {
				t.Errorf("%q: accepted with userinfo or a control character", c.Input)
			}
			checkStandard(t, c)
		case err != nil:
			t.Errorf("%q: %v, browsers open it", c.Input, err)
		default:
			checkParts(t, c, u)
		}
	}
	for in, why := range exceptions {
		t.Errorf("exception %q (%s) is not in the data", in, why)
	}
	t.Logf("%d cases, %d of them refused beyond the standard, %d exceptions", len(cases), stricter, len(wptExceptions()))
}

// checkStandard compares what lies under ParseURL's own rules.
func checkStandard(t *testing.T, c wptCase) {
	t.Helper()
	u, err := parse(c.Input)
	if err != nil {
		t.Errorf("%q: %v, browsers open it", c.Input, err)
		return
	}
	checkParts(t, c, fromParsed(u))
}

func checkParts(t *testing.T, c wptCase, u URL) {
	t.Helper()
	port := ""
	if _, p, ok := strings.Cut(strings.TrimPrefix(string(u.Origin()), u.Scheme()+"://"+u.Host()), ":"); ok {
		port = p
	}
	if u.Scheme()+":" != c.Protocol || u.Host() != c.Hostname || port != c.Port || u.Path() != c.Pathname {
		t.Errorf("%q: %s %s %s %s, browsers: %s %s %s %s", c.Input, u.Scheme(), u.Host(), port, u.Path(),
			c.Protocol, c.Hostname, c.Port, c.Pathname)
	}
	if u.RawQuery() != strings.TrimPrefix(c.Search, "?") || u.Fragment() != strings.TrimPrefix(c.Hash, "#") {
		t.Errorf("%q: query %q, fragment %q", c.Input, u.RawQuery(), u.Fragment())
	}
}

// No name may turn into another host than in a browser; refusing it is allowed.
func TestNamesBecomeNoOtherHost(t *testing.T) {
	for _, file := range []string{"toascii.json", "IdnaTestV2.json"} {
		t.Run(file, func(t *testing.T) {
			var entries []json.RawMessage
			corpus(t, file, &entries)
			same := 0
			for _, e := range entries {
				var c struct {
					Input  string
					Output *string
				}
				if e[0] != '{' {
					continue
				}
				if err := json.Unmarshal(e, &c); err != nil {
					t.Fatal(err)
				}
				u, err := ParseURL("https://" + c.Input + "/x")
				if err != nil || c.Input == "" {
					continue // without a name the next part of the URL becomes the host
				}
				if c.Output == nil || *c.Output != u.Host() {
					t.Errorf("%q: host %q, browsers: %v", c.Input, u.Host(), c.Output)
				}
				same++
			}
			if same == 0 {
				t.Error("no name was accepted")
			}
		})
	}
}
