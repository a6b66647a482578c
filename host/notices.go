package host

import "github.com/drawbridge-mcp/drawbridge/registry"

// noticeLines are what a person should know about a plugin beside what it may do,
// for the question before it is installed.
func noticeLines(rev registry.Review) []string {
	lines := make([]string, len(rev.Notices))
	for i, n := range rev.Notices {
		lines[i] = "LOOK TWICE   " + n.Message
	}
	return lines
}
