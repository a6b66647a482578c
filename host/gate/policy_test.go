package gate

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func TestPolicy(t *testing.T) {
	read, write := subject(), subject()
	read.Destructive, read.Writes, read.Tool = false, nil, "tracker.list"
	tests := []struct {
		name  string
		rules []Rule
		s     Subject
		want  Decision
	}{
		{"reads run", nil, read, DecisionAllow},
		{"writes ask", nil, write, DecisionAsk},
		{"allowed by name", []Rule{{Tool: "tracker.add_comment", Decision: DecisionAllow}}, write, DecisionAllow},
		{"allowed by connector", []Rule{{Connector: "tracker", Decision: DecisionAllow}}, write, DecisionAllow},
		{"another's tool", []Rule{{Tool: "tracker.delete", Decision: DecisionAllow}}, write, DecisionAsk},
		{"another connector", []Rule{{Connector: "track", Decision: DecisionAllow}}, write, DecisionAsk},
		{"another principal", []Rule{{Tool: "tracker.*", Principal: "desktop", Decision: DecisionAllow}}, write, DecisionAsk},
		{"this principal", []Rule{{Tool: "tracker.*", Principal: "lap*", Decision: DecisionAllow}}, write, DecisionAllow},
		{"the principal's id is not its name", []Rule{{Tool: "tracker.*", Principal: "c_1", Decision: DecisionAllow}}, write, DecisionAsk},
		{"deny wins", []Rule{{Tool: "tracker.add_comment", Decision: DecisionAllow}, {Tool: "*.add_*", Decision: DecisionDeny}, {Connector: "tracker", Decision: DecisionAsk}}, write, DecisionDeny},
		{"ask beats allow", []Rule{{Tool: "tracker.*", Decision: DecisionAllow}, {Tool: "*comment", Decision: DecisionAsk}}, write, DecisionAsk},
		{"reads can ask", []Rule{{Decision: DecisionAsk}}, read, DecisionAsk},
		{"reads can be denied", []Rule{{Principal: "laptop", Decision: DecisionDeny}}, read, DecisionDeny},
		{"all of a rule must match", []Rule{{Tool: "tracker.list", Connector: "other", Decision: DecisionDeny}}, read, DecisionAllow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Policy{Rules: tt.rules}
			if err := p.Check(); err != nil {
				t.Fatal(err)
			}
			if got := p.Decide(tt.s); got != tt.want {
				t.Errorf("decision is %q, want %q", got, tt.want)
			}
			slices.Reverse(p.Rules)
			if got := p.Decide(tt.s); got != tt.want {
				t.Errorf("in reverse order the decision is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPolicyCheck(t *testing.T) {
	for _, r := range []Rule{
		{},
		{Tool: "x"},
		{Tool: "x", Decision: "Allow"},
		{Decision: "yes"},
		{Decision: DecisionAllow},
		{Tool: "*", Decision: DecisionAllow},
		{Tool: "*.*", Decision: DecisionAllow},
		{Connector: "**", Decision: DecisionAllow},
		{Principal: "laptop", Decision: DecisionAllow},
	} {
		if _, err := New(Options{Policy: Policy{Rules: []Rule{r}}}); !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("rule %+v: %v", r, err)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "anything", true},
		{"*", "", true},
		{"a*c", "abbc", true},
		{"a*c", "ac", true},
		{"a*b*c", "a1b2b3c", true},
		{"*a*", "bab", true},
		{"a", "A", false},
		{"a", "ab", false},
		{"a*c", "acb", false},
		{"a?c", "abc", false},
		{"[a-z]", "b", false},
		{"a*", "", false},
		{"*aa", "a", false},
		{strings.Repeat("a*", 40) + "b", strings.Repeat("a", 4000), false},
	} {
		if got := matches(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%.20q matches %.20q: %v", tt.pattern, tt.name, got)
		}
	}
}

func TestCheckApprover(t *testing.T) {
	ada := Approver{PID: 300, Start: 30, UID: 1000, TTY: "pts/1", Via: ViaTerminal}
	line := []Process{{300, 30, "pts/1"}, {200, 20, "pts/1"}, {100, 10, ""}, {1, 0, ""}}
	client := []Process{{250, 25, ""}, {400, 40, "pts/2"}}
	if err := CheckApprover(ada, 1000, line, client); err != nil {
		t.Fatalf("a person in a terminal of their own: %v", err)
	}
	if err := CheckApprover(ada, 1000, line, []Process{{200, 19, ""}}); err != nil {
		t.Errorf("a client that ended, whose number the shell got: %v", err)
	}
	type change struct {
		name      string
		a         func(*Approver)
		line      []Process
		connected []Process
	}
	keep := func(*Approver) {}
	for _, tt := range []change{
		{"no way named", func(a *Approver) { a.Via = "" }, line, nil},
		{"through a tool", func(a *Approver) { a.Via = "mcp" }, line, nil},
		{"another user", func(a *Approver) { a.UID = 1001 }, line, nil},
		{"root", func(a *Approver) { a.UID = 0 }, line, nil},
		{"no process", func(a *Approver) { a.PID = 0 }, line, nil},
		{"another process's ancestry", func(a *Approver) { a.PID = 301 }, line, nil},
		{"no ancestry", keep, nil, nil},
		{"number given out again", func(a *Approver) { a.Start = 29 }, line, nil},
		{"no terminal", func(a *Approver) { a.TTY = "" }, []Process{{300, 30, ""}, {200, 20, "pts/1"}}, nil},
		{"a terminal that it has not", func(a *Approver) { a.TTY = "pts/9" }, line, nil},
		{"the client itself", keep, line, []Process{{300, 30, ""}}},
		{"the client's child", keep, line, []Process{{200, 20, ""}}},
		{"the client's grandchild", keep, line, []Process{{400, 40, ""}, {100, 10, ""}}},
		{"client of unknown start", keep, line, []Process{{200, 0, ""}}},
		{"ancestor of unknown start", keep, []Process{{300, 30, "pts/1"}, {200, 0, ""}}, []Process{{200, 20, ""}}},
		{"a parent younger than its child", keep, []Process{{300, 30, "pts/1"}, {200, 31, ""}}, nil},
	} {
		a := ada
		tt.a(&a)
		err := CheckApprover(a, 1000, tt.line, tt.connected)
		var e *abi.Error
		if !errors.As(err, &e) || e.Code != abi.ErrForbidden || !strings.Contains(e.Hint, "drawbridge approvals") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
