package release

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Problem is one rule that a manifest breaks.
type Problem struct {
	Path string // $.connectors[0].tools[1].reads[0].path
	Line int    // in plugin.yaml, counted from one; 0 if not known
	Msg  string // lower case, quotes the value at fault
}

// String says where and what.
func (p Problem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("line %d: %s: %s", p.Line, p.Path, p.Msg)
	}
	return p.Path + ": " + p.Msg
}

// Problems are all the rules that a manifest breaks, in the order of its fields.
// The list stops at maxProblems.
type Problems []Problem

const maxProblems = 50

// Error implements error: one problem per line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// A checker collects problems.
type checker struct {
	problems Problems
	compiled map[string]*regexp.Regexp // by pattern
}

func (c *checker) addf(path, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, Problem{Path: path, Msg: fmt.Sprintf(format, args...)})
	}
}

// Err is nil if there is no problem.
func (c *checker) err() error {
	if len(c.problems) == 0 {
		return nil
	}
	return c.problems
}

// shorten keeps a hostile value from filling a terminal.
func shorten(s string) string { return abi.Shorten(s, 80) }
