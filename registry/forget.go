package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Remembered is all that is known here of the registries of one id.
type Remembered struct {
	ID      string
	There   *Registry // the one that is added; nil if none is
	Before  []Removed // what was removed, the last one first
	Damaged int       // records that can't be read
}

// Remembered tells what [Client.ForgetRegistry] would forget. The error is
// abi.ErrNotFound if that is nothing.
func (c *Client) Remembered(id string) (Remembered, error) {
	what := Remembered{ID: id}
	all, _ := c.states() // a damaged one is told of elsewhere
	for _, s := range all {
		if s.Registry == id {
			r := s.registry()
			what.There = &r
		}
	}
	paths, err := c.recordsOf(id)
	if err != nil {
		return what, err
	}
	if what.There == nil && len(paths) == 0 {
		return what, abi.Errorf(abi.ErrNotFound, "", "nothing is remembered of a registry %q", id).
			WithHint("drawbridge registry list --removed")
	}
	what.Before, _ = c.before(id)
	what.Damaged = len(paths) - len(what.Before)
	return what, nil
}

// same reports whether two answers tell a person the same.
func (r Remembered) same(o Remembered) bool {
	there := (r.There == nil) == (o.There == nil) && (r.There == nil || r.There.sameAs(*o.There))
	return there && r.ID == o.ID && r.Damaged == o.Damaged && slices.Equal(r.Before, o.Before)
}

// recordsOf names the files with what is remembered of an id.
func (c *Client) recordsOf(id string) (paths []string, err error) {
	entries, err := os.ReadDir(c.removedDir())
	if err != nil && !isMissing(err) {
		return nil, fmt.Errorf("reading what is remembered of removed registries: %w", err)
	}
	for _, e := range entries {
		if of, ok := removedID(e.Name()); ok && of == id {
			paths = append(paths, filepath.Join(c.removedDir(), e.Name()))
		}
	}
	return paths, nil
}

// ForgetRegistry removes a registry, if it is there, and all that was seen under its
// id: from then on an older state of it counts again. The caller has asked a person,
// who was shown what; if something else is remembered by now, it is refused with
// confirmation_required.
func (c *Client) ForgetRegistry(what Remembered) error {
	return c.exclusive(func() error {
		now, err := c.Remembered(what.ID)
		if err != nil {
			return err
		}
		if !now.same(what) {
			return changedMeanwhile(what.ID)
		}
		if now.There != nil {
			_, dir, err := c.unused(what.ID)
			if err != nil {
				return err
			}
			if err := c.drop(dir); err != nil {
				return err
			}
		}
		paths, err := c.recordsOf(what.ID)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("forgetting registry %q: %w", what.ID, err)
			}
		}
		return nil
	})
}
