package release

import (
	"errors"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// ParseManifest reads and validates plugin.yaml. Every error is an *abi.Error of
// code invalid_args; where rules are broken it wraps [Problems], which name the
// lines.
func ParseManifest(text []byte) (abi.Manifest, error) {
	m, err := parseManifest(text)
	if err != nil {
		return abi.Manifest{}, abi.Errorf(abi.ErrInvalidArgs, "reading plugin.yaml", "%w", err)
	}
	return m, nil
}

func parseManifest(text []byte) (abi.Manifest, error) {
	var m abi.Manifest
	if len(text) > abi.MaxMetadata {
		return m, Problems{{Path: "$", Msg: "larger than 1 MiB"}}
	}
	doc, lines, err := yamlToJSON(text)
	if err != nil {
		return m, err
	}
	if err := strictjson.Decode(doc, &m, strictjson.MaxBytes(2*abi.MaxMetadata)); err != nil {
		return m, Problems{located(err, lines)}
	}
	fillEmpty(&m)
	if err := Validate(m); err != nil {
		if problems, ok := errors.AsType[Problems](err); ok {
			for i := range problems {
				problems[i].Line = lineOf(problems[i].Path, lines)
			}
		}
		return m, err
	}
	return m, nil
}

// Located finds the line of what strictjson refused. Its own path is all the
// same in YAML.
func located(err error, lines map[string]int) Problem {
	e, ok := errors.AsType[*strictjson.Error](err)
	if !ok {
		return Problem{Path: "$", Msg: err.Error()}
	}
	msg := string(e.Reason)
	if e.Value != "" {
		msg += ": " + shorten(e.Value)
	}
	if e.Detail != "" {
		msg += " (" + e.Detail + ")"
	}
	line, ok := lines[e.Path+"."+e.Value] // of the key itself, where a key is at fault
	if !ok {
		line = lineOf(e.Path, lines)
	}
	return Problem{Path: e.Path, Line: line, Msg: msg}
}

// LineOf is the line of path, or of the nearest thing around it.
func lineOf(path string, lines map[string]int) int {
	for path != "" {
		if line, ok := lines[path]; ok {
			return line
		}
		path = parent(path)
	}
	return 0
}

func parent(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '.' || path[i] == '[' {
			return path[:i]
		}
	}
	return ""
}

// FillEmpty gives lists that every release spells out their empty form, so that
// absent and empty have one spelling.
func fillEmpty(m *abi.Manifest) {
	for i := range m.Connectors {
		c := &m.Connectors[i]
		c.Origins = orEmpty(c.Origins)
		c.Tools = orEmpty(c.Tools)
		c.Pages.SignedIn = orEmpty(c.Pages.SignedIn)
		c.Pages.SignedOut = orEmpty(c.Pages.SignedOut)
		for j := range c.Tools {
			t := &c.Tools[j]
			t.Capabilities = orEmpty(t.Capabilities)
			t.Reads = orEmpty(t.Reads)
		}
	}
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
