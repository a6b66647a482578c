package release

import (
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Notice points at a text that a person ought to read before they agree: it may
// give orders to the model that reads it. Most such texts mean no harm, and most
// that mean harm look like any other text.
type Notice struct {
	Text
	Why string // such as "speaks to the model (you must always)"
}

// Notices lists the texts of a release that may give orders. What plainly does is
// refused by [Validate] and never comes so far.
func Notices(r abi.Release) []Notice {
	list := []Notice{}
	for _, t := range Texts(r) {
		if why := doubt(t.Text); why != "" {
			list = append(list, Notice{t, why})
		}
	}
	return list
}

// String says it in one line.
func (n Notice) String() string {
	return fmt.Sprintf("%s: READ THIS, its %s %s: %q", n.Of, n.Place, n.Why, n.Text.Text)
}

// maxTextChanges is how many changed texts are shown one by one.
const maxTextChanges = 200

// A TextChange is a text that differs between two releases of a plugin.
type TextChange struct {
	Of     string
	Place  string
	Before string // empty if it is new
	After  string // empty if it is gone
}

// String says it in one line.
func (c TextChange) String() string {
	switch {
	case c.Before == "":
		return fmt.Sprintf("%s: its %s is new: %q", c.Of, c.Place, c.After)
	case c.After == "":
		return fmt.Sprintf("%s: its %s is gone: %q", c.Of, c.Place, c.Before)
	}
	return fmt.Sprintf("%s: its %s says %q and said %q", c.Of, c.Place, c.After, c.Before)
}

// DiffTexts lists what models and people will read differently, in the order of
// the new release, what is gone last. Texts of tools and prompts that only one of
// the two has are left out: [DiffGrants] names those.
func DiffTexts(before, after abi.Release) []TextChange {
	type place struct{ of, place string }
	was, is := map[place]string{}, map[place]string{}
	old, fresh := Texts(before), Texts(after)
	had, has := map[string]bool{}, map[string]bool{}
	for _, t := range old {
		was[place{t.Of, t.Place}], had[t.Of] = t.Text, true
	}
	for _, t := range fresh {
		is[place{t.Of, t.Place}], has[t.Of] = t.Text, true
	}
	changes := []TextChange{}
	for _, t := range fresh {
		if b := was[place{t.Of, t.Place}]; had[t.Of] && b != t.Text {
			changes = append(changes, TextChange{t.Of, t.Place, b, t.Text})
		}
	}
	for _, t := range old {
		if _, ok := is[place{t.Of, t.Place}]; has[t.Of] && !ok {
			changes = append(changes, TextChange{t.Of, t.Place, t.Text, ""})
		}
	}
	return changes
}

// ExplainUpdate says in plain words what changes when after takes the place of
// before, one sentence a line: what it may do from now on, what it may no longer,
// and each text that reads differently. It has no lines if nothing does.
func ExplainUpdate(before, after abi.Release, settings map[string]string) []string {
	var lines []string
	was, is := Explain(before, settings), Explain(after, settings)
	for _, l := range without(is, was) {
		lines = append(lines, "NEW   "+l)
	}
	for _, l := range without(was, is) {
		lines = append(lines, "GONE  "+l)
	}
	changes := DiffTexts(before, after)
	for i, c := range changes {
		if i == maxTextChanges {
			lines = append(lines, fmt.Sprintf("TEXT  and %d more texts read differently", len(changes)-i))
			break
		}
		lines = append(lines, "TEXT  "+c.String())
	}
	return lines
}
