package platform

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

// What a service manager is told is a format of its own: a change to it is a
// change to these files.
func TestServiceFiles(t *testing.T) {
	plain := Service{Program: "/usr/local/bin/drawbridge"}
	odd := Service{Program: `/home/ada/my "tools" & 100%$HOME/drawbridge`, Env: map[string]string{HomeVar: `/home/ada/a\b <c>`, "DRAWBRIDGE_PORT": "9000"}}
	for _, goos := range []string{"linux", "darwin"} {
		m, ok := ServiceManagerOf(goos)
		if !ok {
			t.Fatalf("%s has no manager", goos)
		}
		golden.Check(t, "testdata/service-"+goos, []byte(m.Content(plain)))
		golden.Check(t, "testdata/service-odd-"+goos, []byte(m.Content(odd)))
		if goos != "darwin" {
			continue
		}
		texts := ""
		for d := xml.NewDecoder(strings.NewReader(m.Content(odd))); ; {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("the plist is no XML: %v", err)
			}
			if c, ok := tok.(xml.CharData); ok {
				texts += string(c)
			}
		}
		if !strings.Contains(texts, odd.Program) || !strings.Contains(texts, odd.Env[HomeVar]) {
			t.Errorf("it reads back as %s", texts)
		}
	}
	if _, ok := ServiceManagerOf("windows"); ok {
		t.Error("a manager for a system that has none of ours")
	}
}

// Nothing in a path or a variable adds a line to the unit.
func TestUnitHasOurLinesOnly(t *testing.T) {
	evil := "/home/ada/x\nExecStartPre=/bin/a\rExecStartPre=/bin/b\x00\v\x7f\"\\"
	text := Service{Program: evil, Env: map[string]string{HomeVar: evil}}.systemd()
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == 0 })
	for _, l := range lines {
		if strings.HasPrefix(l, "ExecStartPre") {
			t.Errorf("the unit has a line %q", l)
		}
	}
	if word := systemdWord(evil); word != `"/home/ada/x\x0aExecStartPre=/bin/a\x0dExecStartPre=/bin/b\x00\x0b\x7f\"\\"` {
		t.Errorf("it is written as %s", word)
	}
}

func TestServicePlaces(t *testing.T) {
	env := func(vars map[string]string) func(string) string {
		return func(name string) string { return vars[name] }
	}
	for _, c := range []struct {
		goos string
		vars map[string]string
		want string
	}{
		{"linux", map[string]string{"HOME": "/home/ada"}, "/home/ada/.config/systemd/user/drawbridge.service"},
		{"linux", map[string]string{"HOME": "/home/ada", "XDG_CONFIG_HOME": "/conf"}, "/conf/systemd/user/drawbridge.service"},
		{"linux", map[string]string{"HOME": "/home/ada", "XDG_CONFIG_HOME": "conf"}, "/home/ada/.config/systemd/user/drawbridge.service"},
		{"darwin", map[string]string{"HOME": "/Users/ada"}, "/Users/ada/Library/LaunchAgents/" + ServiceLabel + ".plist"},
		{"linux", nil, ""},
		{"darwin", nil, ""},
	} {
		m, _ := ServiceManagerOf(c.goos)
		if got := m.File(env(c.vars)); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.goos, c.vars, got, c.want)
		}
	}
}
