package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// putJSON puts an entry into the object section of a JSON text that may have
// comments and trailing commas, as editors' settings do. It changes the text in
// one place.
func putJSON(old, section string, entry func(indent string) string) (string, error) {
	top, err := membersOf(old, 0)
	if err != nil {
		return "", err
	}
	list, err := top.find(section)
	if err != nil {
		return "", err
	}
	var text string
	if list == nil {
		value := "{\n    " + quoted(ServerName) + ": " + entry("    ") + "\n  }"
		text = top.insert(old, section, value, "  ")
	} else {
		servers, err := membersOf(old, list.from)
		if err != nil {
			return "", fmt.Errorf("%q is no object: %w", section, err)
		}
		own, err := servers.find(ServerName)
		if err != nil {
			return "", err
		}
		if own != nil {
			text = old[:own.from] + entry("    ") + old[own.to:]
		} else {
			text = servers.insert(old, ServerName, entry("    "), "    ")
		}
	}
	return text, nil
}

// A member is one name and where its value stands.
type member struct {
	name     string
	from, to int
}

// An object is where its members stand in a text.
type object struct {
	start   int // of its brace
	members []member
}

// find returns a member; it refuses a name that occurs twice.
func (o object) find(name string) (found *member, err error) {
	for i := range o.members {
		if o.members[i].name != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%q stands in it twice", name)
		}
		found = &o.members[i]
	}
	return found, nil
}

// insert puts a member before the others: after the last one there may be a
// comma or not, and comments.
func (o object) insert(text, name, value, indent string) string {
	after := ""
	if len(o.members) > 0 {
		after = ","
	} else if rest := text[o.start+1:]; strings.HasPrefix(strings.TrimLeft(rest, " \t"), "}") {
		after = "\n" + indent[2:]
	}
	return text[:o.start+1] + "\n" + indent + quoted(name) + ": " + value + after + text[o.start+1:]
}

// membersOf reads the object that begins at or after from.
func membersOf(text string, from int) (object, error) {
	plain := plainJSON(text) // the same length: places in one are places in the other
	start := skipSpace(plain, from)
	if start >= len(plain) || plain[start] != '{' {
		return object{}, errors.New("there is no object")
	}
	o := object{start: start}
	for at := skipSpace(plain, start+1); ; {
		if at < len(plain) && plain[at] == '}' {
			return o, nil
		}
		nameEnd, err := valueEnd(plain, at)
		if err != nil {
			return o, err
		}
		var name string
		if err := json.Unmarshal([]byte(plain[at:nameEnd]), &name); err != nil {
			return o, errors.New("a member has no name")
		}
		colon := skipSpace(plain, nameEnd)
		if colon >= len(plain) || plain[colon] != ':' {
			return o, fmt.Errorf("member %q has no value", name)
		}
		value := skipSpace(plain, colon+1)
		end, err := valueEnd(plain, value)
		if err != nil {
			return o, err
		}
		o.members = append(o.members, member{name, value, end})
		if at = skipSpace(plain, end); at < len(plain) && plain[at] == ',' {
			at = skipSpace(plain, at+1)
		}
	}
}

func skipSpace(s string, at int) int {
	for at < len(s) && strings.IndexByte(" \t\r\n", s[at]) >= 0 {
		at++
	}
	return at
}

// valueEnd returns where the JSON value at a place ends.
func valueEnd(plain string, at int) (int, error) {
	if at >= len(plain) {
		return 0, errors.New("it ends too early")
	}
	d := json.NewDecoder(strings.NewReader(plain[at:]))
	var v json.RawMessage
	if err := d.Decode(&v); err != nil {
		return 0, err
	}
	return at + int(d.InputOffset()), nil
}

// plainJSON puts spaces in the place of comments and trailing commas, so that
// every place in the text stays where it is.
func plainJSON(text string) string {
	b := []byte(text)
	comma := -1 // a comma after which nothing has come yet
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			comma = -1
			i = stringEnd(b, i)
		case c == '/' && i+1 < len(b) && (b[i+1] == '/' || b[i+1] == '*'):
			i = blankComment(b, i)
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			b[comma] = ' '
			comma = -1
		case strings.IndexByte(" \t\r\n", c) < 0:
			comma = -1
		}
	}
	return string(b)
}

// stringEnd returns the place of a string's closing quote, or the text's last.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i
}

// blankComment blanks the comment that begins at i and returns its last place.
func blankComment(b []byte, i int) int {
	end := len(b)
	if b[i+1] == '/' {
		if n := bytes.IndexAny(b[i:], "\r\n"); n >= 0 {
			end = i + n
		}
	} else if n := bytes.Index(b[i+2:], []byte("*/")); n >= 0 {
		end = i + 2 + n + 2
	}
	for j := i; j < end; j++ {
		if b[j] != '\n' && b[j] != '\r' {
			b[j] = ' '
		}
	}
	return end - 1
}
