package site

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// MaxComment is the longest comment that the tracker takes, in bytes.
const MaxComment = 20_000

var (
	errNoIssue   = errors.New("no such issue")
	errEmpty     = errors.New("comment is empty")
	errTooLong   = errors.New("comment is too long")
	errBadChange = errors.New("no such status, priority or user")
)

// Truth is the true data, as a test or a person should find it on the pages.
type Truth struct {
	Users  []User  `json:"users"`
	Issues []Issue `json:"issues"` // by ascending id
}

// A store holds the issues. Everything that it returns is a copy.
type store struct {
	now func() time.Time

	mu          sync.Mutex
	issues      map[int]*Issue
	lastComment int
}

func newStore(now func() time.Time) *store {
	s := &store{now: now}
	s.reset()
	return s
}

func (s *store) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.issues, s.lastComment = seedIssues(), 0
	for _, is := range s.issues {
		for _, c := range is.Comments {
			s.lastComment = max(s.lastComment, c.ID)
		}
	}
}

func (s *store) truth() Truth {
	all := s.list(func(*Issue) bool { return true })
	slices.Reverse(all)
	return Truth{Users: Users(), Issues: all}
}

// list returns the issues that keep accepts, newest (highest id) first.
func (s *store) list(keep func(*Issue) bool) []Issue {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []Issue{}
	for _, is := range s.issues {
		if keep(is) {
			found = append(found, is.clone())
		}
	}
	slices.SortFunc(found, func(a, b Issue) int { return b.ID - a.ID })
	return found
}

func (s *store) issue(id int) (Issue, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is, ok := s.issues[id]
	if !ok {
		return Issue{}, false
	}
	return is.clone(), true
}

// addComment stores a comment. Browsers send line ends as \r\n: they become \n.
func (s *store) addComment(id int, author, body string) (Comment, error) {
	body = strings.ReplaceAll(body, "\r\n", "\n")
	if strings.TrimSpace(body) == "" {
		return Comment{}, errEmpty
	}
	if len(body) > MaxComment {
		return Comment{}, errTooLong
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	is, ok := s.issues[id]
	if !ok {
		return Comment{}, errNoIssue
	}
	s.lastComment++
	c := Comment{ID: s.lastComment, Author: author, Created: s.now().UTC().Truncate(time.Second), Body: body}
	is.Comments = append(is.Comments, c)
	is.Updated = c.Created
	return c, nil
}

// A change names an issue's new values; an empty string leaves one as it is.
type change struct{ status, priority, assignee string }

func (c change) valid() bool {
	return (c.status == "" || slices.Contains(Statuses(), c.status)) &&
		(c.priority == "" || slices.Contains(Priorities(), c.priority)) &&
		(c.assignee == "" || slices.Contains(logins(), c.assignee))
}

func (s *store) update(id int, c change) error {
	if !c.valid() {
		return errBadChange
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	is, ok := s.issues[id]
	if !ok {
		return errNoIssue
	}
	set := func(to *string, v string) {
		if v != "" {
			*to = v
		}
	}
	set(&is.Status, c.status)
	set(&is.Priority, c.priority)
	set(&is.Assignee, c.assignee)
	is.Updated = s.now().UTC().Truncate(time.Second)
	return nil
}

func (s *store) remove(id int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.issues[id]; !ok {
		return errNoIssue
	}
	delete(s.issues, id)
	return nil
}

func (is *Issue) clone() Issue {
	c := *is
	c.Labels = slices.Clone(is.Labels)
	c.Comments = slices.Clone(is.Comments)
	if is.Due != nil {
		due := *is.Due
		c.Due = &due
	}
	return c
}

// visibleTo reports whether u may see the issue.
func (is *Issue) visibleTo(u User) bool { return is.Access == AccessAll || u.Member }
