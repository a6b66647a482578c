package rtcompare

import (
	"encoding/json"
	"fmt"
	"slices"
)

// A Truth is what rt.sh truth prints.
type Truth struct {
	Site    string   `json:"site"`
	Queues  []string `json:"queues"`
	Users   []User   `json:"users"`
	Tickets []Ticket `json:"tickets"` // by id

	// Base is the address of the site without a slash at its end.
	Base string `json:"-"`
}

// A User is an account.
type User struct {
	Name     string `json:"name"` // login
	RealName string `json:"realName"`
	Email    string `json:"email"`
}

// A Ticket is one ticket as stored. Dates are "2026-01-21 14:44:00" in UTC.
type Ticket struct {
	ID           int                 `json:"id"`
	Queue        string              `json:"queue"`
	Subject      string              `json:"subject"`
	Status       string              `json:"status"`
	Priority     int                 `json:"priority"`
	Owner        string              `json:"owner"` // login
	Requestors   []string            `json:"requestors"`
	Created      string              `json:"created"`
	Updated      string              `json:"lastUpdated"`
	Due          string              `json:"due"`
	CustomFields map[string][]string `json:"customFields"`
	Transactions []Transaction       `json:"transactions"` // by date, then id
}

// A Transaction is one entry of a ticket's history.
type Transaction struct {
	ID      int     `json:"id"`
	Type    string  `json:"type"`
	Field   *string `json:"field"`
	Old     *string `json:"old"`
	New     *string `json:"new"`
	Created string  `json:"created"`
	Author  string  `json:"author"` // login
	Parts   []Part  `json:"parts"`
}

// A Part is a message or an attachment.
type Part struct {
	ID   int     `json:"id"`
	Name *string `json:"name"` // of the file; nil for a message
	Type string  `json:"type"`
	Size int     `json:"size"`
	Text *string `json:"text"` // of text alone
}

// ParseTruth reads the truth of the site at base.
func ParseTruth(data []byte, base string) (*Truth, error) {
	t := Truth{Base: base}
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, fmt.Errorf("reading truth: %w", err)
	}
	if len(t.Tickets) == 0 || len(t.Users) == 0 {
		return nil, fmt.Errorf("the truth has %d tickets and %d users", len(t.Tickets), len(t.Users))
	}
	return &t, nil
}

// Ticket returns the ticket with an id, or nil.
func (t *Truth) Ticket(id int) *Ticket {
	for i := range t.Tickets {
		if t.Tickets[i].ID == id {
			return &t.Tickets[i]
		}
	}
	return nil
}

// Newest returns the ids of the tickets that match, newest first, as the
// connector lists them.
func (t *Truth) Newest(match func(*Ticket) bool) []int {
	ids := []int{}
	for i := range t.Tickets {
		if match(&t.Tickets[i]) {
			ids = append(ids, t.Tickets[i].ID)
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids
}

// IsActive reports whether the ticket's status is one of those that wait for
// somebody to do something.
func (t *Ticket) IsActive() bool {
	return slices.Contains([]string{"new", "open", "stalled"}, t.Status)
}
