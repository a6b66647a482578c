package clientconfig

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// tomlTable is the entry as a table of its own.
func tomlTable(section string, e Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s.%s]\ncommand = %s\nargs = [", section, ServerName, quoted(e.Command))
	for i, a := range e.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quoted(a))
	}
	fmt.Fprintf(&b, "]\ntool_timeout_sec = %d\n", toolTimeout)
	if len(e.Env) > 0 {
		fmt.Fprintf(&b, "\n[%s.%s.env]\n", section, ServerName)
		for _, name := range slices.Sorted(maps.Keys(e.Env)) {
			fmt.Fprintf(&b, "%s = %s\n", name, quoted(e.Env[name]))
		}
	}
	return b.String()
}

// plainValue is a value of TOML that holds no other, as an expression.
const plainValue = `(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_+.:-]+)`

var (
	// anyHeader matches the header of a table.
	anyHeader = regexp.MustCompile(`^\s*\[`)
	// ownHeader matches the header of our table or one below it, however its
	// name is quoted.
	ownHeader = regexp.MustCompile(`^\s*\[\s*mcp_servers\s*\.\s*["']?` + ServerName + `["']?\s*[\].]`)
	// serverHeader matches the header of any server's table.
	serverHeader = regexp.MustCompile(`^\s*\[\s*mcp_servers\s*\.`)
	// wholeHeader matches a header that is whole, and no array of tables.
	wholeHeader = regexp.MustCompile(`^\[[^\[\]"']*(?:"[^"\\]*"|'[^']*')?[^\[\]"']*\]\s*(?:#.*)?$`)
	// wholeLine matches a key and a value that end where the line does: a text, a
	// word, a number or a date, or a list of such.
	wholeLine = regexp.MustCompile(`^[A-Za-z0-9_."'-]+\s*=\s*(?:` + plainValue + `|\[\s*(?:` + plainValue + `\s*(?:,\s*` + plainValue + `\s*)*,?)?\s*\])\s*(?:#.*)?$`)
)

// putTOML puts the table in the place of the one that is there, or at the end. It
// takes a table out only where every line of it is a whole one, and refuses what
// only a TOML editor could tell apart: strings of several lines anywhere, and
// servers that are not written as tables of their own.
func putTOML(old, section string, e Entry) (string, error) {
	table := tomlTable(section, e)
	if strings.Contains(old, table) {
		return old, nil
	}
	long := strings.Contains(old, `"""`) || strings.Contains(old, `'''`)
	var kept, aside strings.Builder // aside may belong to the table that follows ours
	own, at := false, -1
	for line := range strings.Lines(old) {
		code := strings.TrimSpace(line)
		switch header := anyHeader.MatchString(line); {
		case header && ownHeader.MatchString(line):
			if !wholeHeader.MatchString(code) || long {
				return "", fmt.Errorf("what belongs to its [%s.%s] can't be told: take it out first", section, ServerName)
			}
			if own = true; at < 0 {
				at = kept.Len()
			}
			aside.Reset()
			continue
		case header:
			own = false
			kept.WriteString(aside.String())
			aside.Reset()
		case own && (code == "" || code[0] == '#'):
			aside.WriteString(line)
			continue
		case own && !wholeLine.MatchString(code):
			return "", fmt.Errorf("what belongs to its [%s.%s] can't be told: take it out first", section, ServerName)
		case own:
			aside.Reset()
			continue
		}
		code, _, _ = strings.Cut(line, "#")
		if strings.Contains(code, section) && !serverHeader.MatchString(code) {
			return "", fmt.Errorf("its %s are not written as tables of their own", section)
		}
		kept.WriteString(line)
	}
	if at >= 0 {
		text := kept.String() + aside.String()
		return withTable(text[:at], table, text[at:]), nil
	}
	if strings.Count(old, `"""`)%2 != 0 || strings.Count(old, `'''`)%2 != 0 {
		return "", errors.New("it ends within a string")
	}
	return withTable(old, table, ""), nil
}

// withTable sets the table apart from what stands before and after it.
func withTable(before, table, after string) string {
	if before = strings.TrimRight(before, "\n"); before != "" {
		before += "\n\n"
	}
	if after = strings.TrimLeft(after, "\n"); after != "" {
		after = "\n" + after
	}
	return before + table + after
}
