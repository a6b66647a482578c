package clientconfig

import (
	"encoding/json"
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

var (
	// anyHeader matches the header of a table.
	anyHeader = regexp.MustCompile(`^\s*\[`)
	// ownHeader matches the header of our table or one below it, however its
	// name is quoted.
	ownHeader = regexp.MustCompile(`^\s*\[\s*mcp_servers\s*\.\s*["']?` + ServerName + `["']?\s*[\].]`)
	// serverHeader matches the header of any server's table.
	serverHeader = regexp.MustCompile(`^\s*\[\s*mcp_servers\s*\.`)
	commandLine  = regexp.MustCompile(`^\s*command\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*')`)
)

// putTOML appends the table. It takes no table out: where one is there, or the
// servers are written in another form than tables of their own, only a TOML
// editor could tell what belongs to it.
func putTOML(old, section string, e Entry) (string, error) {
	table := tomlTable(section, e)
	if strings.Contains(old, table) {
		return old, nil
	}
	for line := range strings.Lines(old) {
		code, _, _ := strings.Cut(line, "#")
		switch {
		case ownHeader.MatchString(code):
			return "", fmt.Errorf("it has another [%s.%s] already: take it out first", section, ServerName)
		case strings.Contains(code, section) && !serverHeader.MatchString(code):
			return "", fmt.Errorf("its %s are not written as tables of their own", section)
		}
	}
	if strings.Count(old, `"""`)%2 != 0 || strings.Count(old, `'''`)%2 != 0 {
		return "", errors.New("it ends within a string")
	}
	if !strings.HasSuffix(old, "\n") {
		old += "\n"
	}
	return old + "\n" + table, nil
}

// tomlCommand finds the program in our table.
func tomlCommand(text, section string) (string, bool) {
	own := false
	for line := range strings.Lines(text) {
		if anyHeader.MatchString(line) {
			own = ownHeader.MatchString(line) && strings.Contains(line, section)
			continue
		}
		m := commandLine.FindStringSubmatch(line)
		if !own || m == nil {
			continue
		}
		var command string
		if strings.HasPrefix(m[1], "'") {
			return strings.Trim(m[1], "'"), true
		}
		return command, json.Unmarshal([]byte(m[1]), &command) == nil
	}
	return "", false
}
