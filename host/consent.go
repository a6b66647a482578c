package host

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// QuestionLife is how long a question waits for its answer.
const QuestionLife = 10 * time.Minute

// maxAttempts is how many wrong codes end a question.
const maxAttempts = 3

// A Question is something that only a person may decide: trusting a registry,
// installing a connector. Whoever shows it asks for Code to be retyped.
type Question struct {
	ID    string   `json:"id"`
	Code  string   `json:"code"`
	Title string   `json:"title"`
	Lines []string `json:"lines"`
}

// Questions are the ones that wait for a person. The zero value is ready.
type Questions struct {
	mu   sync.Mutex
	open map[string]*question
}

type question struct {
	code     string
	attempts int
	answer   chan error // gets one value
}

// Ask shows a question by show and waits until it is answered, ctx ends or its
// life is over. A nil error is a yes.
func (q *Questions) Ask(ctx context.Context, title string, lines []string, show func(Question) error) error {
	ctx, cancel := context.WithTimeout(ctx, QuestionLife)
	defer cancel()
	id, entry := rand.Text()[:12], &question{code: shortCode(), answer: make(chan error, 1)}
	q.mu.Lock()
	if q.open == nil {
		q.open = map[string]*question{}
	}
	q.open[id] = entry
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.open, id)
	}()
	if err := show(Question{ID: id, Code: entry.code, Title: title, Lines: lines}); err != nil {
		return err
	}
	select {
	case err := <-entry.answer:
		return err
	case <-ctx.Done():
		return abi.Errorf(abi.ErrConfirmationDenied, "", "nobody answered: %w", ctx.Err())
	}
}

// Answer settles a question with the code that a person retyped; the caller has
// checked that the answer may count. An empty code is a no.
func (q *Questions) Answer(id, code string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	entry, ok := q.open[id]
	if !ok {
		return abi.Errorf(abi.ErrNotFound, "", "no question %q is open", id)
	}
	if code == "" {
		delete(q.open, id)
		entry.answer <- abi.Errorf(abi.ErrConfirmationDenied, "", "it was refused")
		return nil
	}
	if subtle.ConstantTimeCompare([]byte(code), []byte(entry.code)) == 1 {
		delete(q.open, id)
		entry.answer <- nil
		return nil
	}
	if entry.attempts++; entry.attempts >= maxAttempts {
		delete(q.open, id)
		entry.answer <- abi.Errorf(abi.ErrConfirmationDenied, "", "the code was wrong %d times", maxAttempts)
	}
	return abi.Errorf(abi.ErrConfirmationDenied, "", "code %q is wrong", code)
}

// shortCode is what a person retypes: five letters and digits that can't be
// mistaken for each other.
func shortCode() string {
	return rand.Text()[:5]
}
