package mantiscompare

import (
	"encoding/json"
	"fmt"
	"slices"
)

// A Truth is what MantisBT's database holds.
type Truth struct {
	Bugs []Bug `json:"bugs"` // by id

	// Base is the address of the site without a slash at its end.
	Base string `json:"-"`
}

// A Bug is one bug as stored. Dates are Unix times in seconds; people are logins,
// empty for nobody.
type Bug struct {
	ID              int      `json:"id"`
	Project         string   `json:"project"`
	Category        string   `json:"category"`
	Reporter        string   `json:"reporter"`
	Handler         string   `json:"handler"`
	Status          string   `json:"status"`
	Priority        string   `json:"priority"`
	Severity        string   `json:"severity"`
	Resolution      string   `json:"resolution"`
	Reproducibility string   `json:"reproducibility"`
	View            string   `json:"view"`
	Version         string   `json:"version"`
	Summary         string   `json:"summary"`
	Description     string   `json:"description"`
	Steps           string   `json:"stepsToReproduce"`
	Additional      string   `json:"additionalInformation"`
	Submitted       int64    `json:"submitted"`
	Updated         int64    `json:"updated"`
	Due             *int64   `json:"due"`
	Tags            []string `json:"tags"`
	Notes           []Note   `json:"notes"`
	Attachments     []File   `json:"attachments"`
}

// A Note is a note of a bug.
type Note struct {
	ID        int    `json:"id"`
	Author    string `json:"author"`
	View      string `json:"view"`
	Submitted int64  `json:"submitted"`
	Text      string `json:"text"`
}

// A File is an attachment.
type File struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// ParseTruth reads the truth of the site at base.
func ParseTruth(data []byte, base string) (*Truth, error) {
	t := Truth{Base: base}
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, fmt.Errorf("reading truth: %w", err)
	}
	if len(t.Bugs) == 0 {
		return nil, fmt.Errorf("the truth has no bugs")
	}
	return &t, nil
}

// Bug returns the bug with an id, or nil.
func (t *Truth) Bug(id int) *Bug {
	for i := range t.Bugs {
		if t.Bugs[i].ID == id {
			return &t.Bugs[i]
		}
	}
	return nil
}

// IDs returns the ids of the bugs that match, in the order of the truth.
func (t *Truth) IDs(match func(*Bug) bool) []int {
	ids := []int{}
	for i := range t.Bugs {
		if match(&t.Bugs[i]) {
			ids = append(ids, t.Bugs[i].ID)
		}
	}
	return ids
}

// Newest is IDs, the newest first.
func (t *Truth) Newest(match func(*Bug) bool) []int {
	ids := t.IDs(match)
	slices.Reverse(ids)
	return ids
}

// IsOpen reports whether a bug is not resolved yet.
func (b *Bug) IsOpen() bool { return b.Status != "resolved" && b.Status != "closed" }
