package origin

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// TestTemplatesGolden holds the reading of path templates, which is part of what
// a signature covers, against the file in testdata.
func TestTemplatesGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/templates.golden")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 4 {
			t.Fatalf("%q has %d fields", line, len(f))
		}
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		lines++
		if got := reading(t, f[0], f[1], f[2]); got != f[3] {
			t.Errorf("%s with %s reads %s as %s, want %s", f[0], f[1], f[2], got, f[3])
		}
	}
	if lines < 10 {
		t.Errorf("only %d lines", lines)
	}
}

func reading(t *testing.T, template, params, path string) string {
	t.Helper()
	var list []abi.Param
	for p := range strings.FieldsSeq(params) {
		name, typ, _ := strings.Cut(p, ":")
		list = append(list, abi.Param{Name: name, Any: abi.ValueType(typ)})
	}
	tm, err := ParseTemplate(template, list)
	if err != nil {
		t.Fatal(err)
	}
	values, ok := tm.Match(path)
	if !ok {
		return "no"
	}
	out, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
