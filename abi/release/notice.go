package release

import (
	"fmt"
	"slices"

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

// readThis begins what points at a text.
const readThis = "READ THIS,"

// String says it in one line.
func (n Notice) String() string {
	return n.Of + ": " + n.words()
}

func (n Notice) words() string {
	return fmt.Sprintf(readThis+" its %s %s: %q", n.Place, n.Why, n.Text.Text)
}

// notices points at the texts that an update brings.
func (c *comparer) notices(before, after abi.Release) {
	old := Notices(before)
	for _, n := range Notices(after) {
		if !slices.Contains(old, n) {
			c.add(Told, n.Of, "%s", n.words())
		}
	}
}
