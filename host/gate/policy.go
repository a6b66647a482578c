package gate

import (
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Decision is what policy says about a call.
type Decision string

// The decisions, from the mildest to the strictest.
const (
	DecisionAllow Decision = "allow"
	DecisionAsk   Decision = "ask"
	DecisionDeny  Decision = "deny"
)

// A Rule decides about the calls that it matches. In a pattern, * stands for
// any characters; an empty pattern matches everything.
type Rule struct {
	Tool      string // dotted name, such as "tracker.*"
	Connector string // its id
	Principal string // the name that the user gave the client
	Decision  Decision
}

// A Policy is what the user decided beforehand. Of the rules that match a call
// the strictest holds, in whatever order they stand. Without one, a destructive
// call asks, and others are allowed. The zero value is that.
type Policy struct {
	Rules []Rule
}

// Check refuses rules that don't mean what they seem to: an unknown decision,
// and allow for everything, which would let every tool of every connector yet
// to be installed write without asking.
func (p Policy) Check() error {
	for i, r := range p.Rules {
		switch r.Decision {
		case DecisionAllow:
			if strings.Trim(r.Tool, "*.") == "" && strings.Trim(r.Connector, "*") == "" {
				return abi.Errorf(abi.ErrInvalidArgs, "", "policy rule %d allows everything: name a tool or a connector", i+1)
			}
		case DecisionAsk, DecisionDeny:
		default:
			return abi.Errorf(abi.ErrInvalidArgs, "", "policy rule %d has the decision %q, and not allow, ask or deny", i+1, r.Decision)
		}
	}
	return nil
}

// Decide says what policy has to say about s.
func (p Policy) Decide(s Subject) Decision {
	verdict := Decision("")
	for _, r := range p.Rules {
		if r.matches(s) && strictness(r.Decision) > strictness(verdict) {
			verdict = r.Decision
		}
	}
	switch {
	case verdict != "":
		return verdict
	case s.Destructive:
		return DecisionAsk
	}
	return DecisionAllow
}

// strictness orders decisions; one that we don't know is the strictest.
func strictness(d Decision) int {
	switch d {
	case "":
		return 0
	case DecisionAllow:
		return 1
	case DecisionAsk:
		return 2
	case DecisionDeny:
		return 3
	}
	return 4
}

func (r Rule) matches(s Subject) bool {
	return matches(r.Tool, s.Tool) && matches(r.Connector, s.Connector) && matches(r.Principal, s.Principal.Name)
}

// matches reports whether name fits pattern, in time linear in both but for
// one backtrack to the last *.
func matches(pattern, name string) bool {
	if pattern == "" {
		return true
	}
	star, from := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0:
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
