package origin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Bounds of a template.
const (
	maxTemplate = 512
	maxParams   = 16
)

// A Template is a path with parameters: /ticket/{id}, /issues/{id}.json. Each
// {name} stands for a non-empty part of one segment. The zero Template matches
// nothing.
type Template struct {
	raw      string
	segments [][]part
	params   map[string]abi.Param
}

// A part is literal text, or the name of a parameter.
type part struct {
	text  string
	param bool
}

// ParseTemplate parses a path template and its parameters, one for each {name}.
// Literal text is what the path means, decoded: it holds no percent sign. A
// template starts with a slash and holds no semicolon, backslash, query, dot
// segment or empty segment other than the last; two parameters never touch.
func ParseTemplate(path string, params []abi.Param) (Template, error) {
	t, err := parseTemplate(path, params)
	if err != nil {
		return Template{}, fmt.Errorf("invalid path template %q: %w", shorten(path), err)
	}
	return t, nil
}

func parseTemplate(path string, params []abi.Param) (Template, error) {
	switch {
	case len(path) > maxTemplate:
		return Template{}, fmt.Errorf("%d bytes, limit %d", len(path), maxTemplate)
	case !strings.HasPrefix(path, "/"):
		return Template{}, errors.New("it does not start with a slash")
	case strings.ContainsAny(path, `%;\?#`):
		return Template{}, errors.New("it holds a percent sign, semicolon, backslash, query or fragment")
	case checkRaw(path) != nil:
		return Template{}, errors.New("it holds a control character")
	case len(params) > maxParams:
		return Template{}, fmt.Errorf("%d parameters, limit %d", len(params), maxParams)
	}
	t := Template{raw: path, params: map[string]abi.Param{}}
	for _, p := range params {
		if !isParamName(p.Name) {
			return Template{}, fmt.Errorf("%q is not a parameter name", shorten(p.Name))
		}
		if _, twice := t.params[p.Name]; twice {
			return Template{}, fmt.Errorf("the parameter %q is listed twice", p.Name)
		}
		t.params[p.Name] = p
	}
	used := map[string]bool{}
	raws := strings.Split(path[1:], "/")
	for i, raw := range raws {
		if isDots(raw) || raw == "" && i < len(raws)-1 {
			return Template{}, fmt.Errorf("the segment %q is empty or dots", raw)
		}
		parts, err := t.parseSegment(raw, used)
		if err != nil {
			return Template{}, err
		}
		t.segments = append(t.segments, parts)
	}
	if len(used) != len(t.params) {
		return Template{}, errors.New("a parameter is listed that the path does not have")
	}
	return t, nil
}

// isParamName takes a letter, and up to 30 letters, digits and underscores.
func isParamName(name string) bool {
	if name == "" || len(name) > 31 || isDigit(name[0]) || name[0] == '_' {
		return false
	}
	return onlyBytes(name, func(c byte) bool {
		return c == '_' || isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	})
}

// parseSegment splits one segment into literals and parameters.
func (t Template) parseSegment(raw string, used map[string]bool) ([]part, error) {
	var parts []part
	for raw != "" {
		open := strings.IndexAny(raw, "{}")
		if open < 0 {
			return append(parts, part{text: raw}), nil
		}
		if raw[open] == '}' {
			return nil, errors.New("a brace closes that was not opened")
		}
		if open > 0 {
			parts = append(parts, part{text: raw[:open]})
		} else if len(parts) > 0 {
			return nil, errors.New("two parameters touch")
		}
		name, rest, ok := strings.Cut(raw[open+1:], "}")
		if _, listed := t.params[name]; !ok || !listed {
			return nil, fmt.Errorf("the parameter %q is not listed", shorten(name))
		}
		if used[name] {
			return nil, fmt.Errorf("the parameter %q stands twice", name)
		}
		used[name] = true
		parts, raw = append(parts, part{text: name, param: true}), rest
	}
	return parts, nil
}

// String returns the template as it was written.
func (t Template) String() string { return t.raw }

// Match matches the path of a URL, as URL.Path returns it, and returns the
// decoded value of every parameter. Values of parameters with Any have that
// type; the other constraints are the caller's. A path that CheckPath refuses
// matches no template.
func (t Template) Match(path string) (map[string]string, bool) {
	segments, err := splitPath(path)
	if err != nil || len(segments) != len(t.segments) {
		return nil, false
	}
	values := make(map[string]string, len(t.params))
	for i, parts := range t.segments {
		if !matchSegment(parts, segments[i], values) {
			return nil, false
		}
	}
	for name, v := range values {
		if p := t.params[name]; p.Any != "" && !ValidValue(p.Any, p.MaxLen, v) {
			return nil, false
		}
	}
	return values, true
}

// matchSegment matches one decoded segment. A value ends where the literal behind
// it first occurs, so that there is never a second way to divide a segment.
func matchSegment(parts []part, segment string, values map[string]string) bool {
	for i, p := range parts {
		if !p.param {
			var ok bool
			if segment, ok = strings.CutPrefix(segment, p.text); !ok {
				return false
			}
			continue
		}
		end := len(segment)
		if i+1 < len(parts) {
			end = strings.Index(segment, parts[i+1].text)
		}
		if end <= 0 {
			return false
		}
		values[p.text], segment = segment[:end], segment[end:]
	}
	return segment == ""
}

// CheckPath refuses paths that a server behind a proxy, or a framework behind a
// server, may read in another way than a browser: parameters after a semicolon,
// encoded or doubly encoded separators, dot segments, control characters and text
// that is not UTF-8.
func CheckPath(path string) error {
	_, err := splitPath(path)
	return err
}

// splitPath decodes a path into its segments.
func splitPath(path string) ([]string, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, errors.New("the path does not start with a slash")
	}
	if strings.ContainsAny(path, `;\?#`) {
		return nil, errors.New("the path holds a semicolon or backslash")
	}
	raws := strings.Split(path[1:], "/")
	segments := make([]string, len(raws))
	for i, raw := range raws {
		s, err := unescape(raw)
		if err != nil {
			return nil, fmt.Errorf("the path holds %w", err)
		}
		switch {
		case strings.ContainsAny(s, `/\;`):
			return nil, errors.New("the path holds an encoded separator")
		case strings.ContainsFunc(s, isControl):
			return nil, errors.New("the path holds an encoded control character")
		case isDots(s):
			return nil, errors.New("the path holds a dot segment")
		case unescapeLax(s) != s:
			return nil, errors.New("the path is encoded twice")
		}
		segments[i] = s
	}
	return segments, nil
}

func isDots(s string) bool { return s == "." || s == ".." }
