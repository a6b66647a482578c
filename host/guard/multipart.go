package guard

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi/origin"
)

// isBoundary reports whether a boundary is one that a browser makes up: letters,
// digits, hyphens and underscores, which no reader has to unquote.
func isBoundary(b string) bool {
	return len(b) > 0 && len(b) <= 70 && !strings.ContainsFunc(b, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// parseMultipart reads a multipart/form-data body exactly as browsers write it.
// Preamble, epilogue, other headers, bare line feeds and anything else that two
// readers could divide in two ways are refused. A file part is taken only if it
// is what a browser sends for a file field that was left empty.
func parseMultipart(data []byte, boundary string) ([]origin.Pair, error) {
	rest, ok := bytes.CutPrefix(data, []byte("--"+boundary))
	if !ok {
		return nil, errors.New("the body does not start with its boundary")
	}
	delimiter := []byte("\r\n--" + boundary)
	var pairs []origin.Pair
	seen := map[string]bool{}
	for {
		if end := string(rest[:min(len(rest), 5)]); end == "--" || end == "--\r\n" {
			return pairs, nil
		}
		var part []byte
		var found bool
		if rest, ok = bytes.CutPrefix(rest, []byte("\r\n")); !ok {
			return nil, errors.New("a boundary is followed by something else than a part")
		}
		if part, rest, found = bytes.Cut(rest, delimiter); !found {
			return nil, errors.New("the last part is not closed")
		}
		p, err := parsePart(part)
		if err != nil {
			return nil, err
		}
		if seen[p.Name] {
			return nil, fmt.Errorf("the field %q stands twice", shorten(p.Name))
		}
		seen[p.Name] = true
		if pairs = append(pairs, p); len(pairs) > origin.MaxPairs {
			return nil, fmt.Errorf("more than %d fields", origin.MaxPairs)
		}
	}
}

// parsePart reads one part: headers, an empty line, the value.
func parsePart(part []byte) (origin.Pair, error) {
	head, value, ok := strings.Cut(string(part), "\r\n\r\n")
	if !ok {
		return origin.Pair{}, errors.New("a part has no value")
	}
	disposition, contentType, typed := strings.Cut(head, "\r\n")
	name, file, isFile, err := parseDisposition(disposition)
	switch {
	case err != nil:
		return origin.Pair{}, err
	case strings.ContainsAny(contentType, "\r\n") || typed && !strings.HasPrefix(contentType, "Content-Type: "):
		return origin.Pair{}, errors.New("a part has an unknown header")
	case typed != isFile:
		return origin.Pair{}, errors.New("a text field has a content type, or a file has none")
	case isFile && (file != "" || value != ""):
		return origin.Pair{}, fmt.Errorf("the field %q uploads a file", shorten(name))
	case !origin.CleanText(value):
		return origin.Pair{}, fmt.Errorf("the field %q is not text", shorten(name))
	}
	return origin.Pair{Name: name, Value: value}, nil
}

// parseDisposition reads the header that names a part.
func parseDisposition(line string) (name, file string, isFile bool, err error) {
	rest, ok := strings.CutPrefix(line, `Content-Disposition: form-data; name="`)
	if !ok {
		return "", "", false, errors.New("a part does not start with its name")
	}
	name, rest, ok = strings.Cut(rest, `"`)
	if !ok || name == "" || strings.ContainsAny(name, "%\\\r\n\x00") || !origin.CleanText(name) {
		return "", "", false, errors.New("a part's name is empty or not plain")
	}
	if rest == "" {
		return name, "", false, nil
	}
	file, ok = strings.CutPrefix(rest, `; filename="`)
	if !ok || !strings.HasSuffix(file, `"`) || strings.Count(file, `"`) != 1 {
		return "", "", false, errors.New("a part has a parameter other than name and filename")
	}
	return name, strings.TrimSuffix(file, `"`), true, nil
}
