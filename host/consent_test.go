package host

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// asked starts a question and returns it with a channel that gets its outcome.
func asked(t *testing.T, q *Questions) (Question, chan error) {
	t.Helper()
	shown, outcome := make(chan Question, 1), make(chan error, 1)
	go func() {
		outcome <- q.Ask(t.Context(), "Trust this?", []string{"line"}, func(question Question) error {
			shown <- question
			return nil
		})
	}()
	return <-shown, outcome
}

func TestQuestionTheRightCodeIsAYes(t *testing.T) {
	var q Questions
	question, outcome := asked(t, &q)
	if err := q.Answer(question.ID, question.Code); err != nil {
		t.Fatal(err)
	}
	if err := <-outcome; err != nil {
		t.Fatal(err)
	}
	if err := q.Answer(question.ID, question.Code); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("a second answer: %v", err)
	}
}

func TestQuestionNoCodeIsANo(t *testing.T) {
	var q Questions
	question, outcome := asked(t, &q)
	if err := q.Answer(question.ID, ""); err != nil {
		t.Fatal(err)
	}
	if err := <-outcome; !errors.Is(err, abi.ErrConfirmationDenied) {
		t.Errorf("outcome = %v", err)
	}
}

func TestQuestionWrongCodesEndIt(t *testing.T) {
	var q Questions
	question, outcome := asked(t, &q)
	for range maxAttempts {
		if err := q.Answer(question.ID, "WRONG"); !errors.Is(err, abi.ErrConfirmationDenied) {
			t.Fatalf("a wrong code: %v", err)
		}
	}
	if err := <-outcome; !errors.Is(err, abi.ErrConfirmationDenied) {
		t.Errorf("outcome = %v", err)
	}
	if err := q.Answer(question.ID, question.Code); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("the right code afterwards: %v", err)
	}
}

func TestQuestionEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Questions
		_, outcome := asked(t, &q)
		if err := <-outcome; !errors.Is(err, abi.ErrConfirmationDenied) {
			t.Errorf("outcome = %v", err)
		}
	})
}

func TestQuestionThatCantBeShownIsANo(t *testing.T) {
	var q Questions
	gone := errors.New("the caller is gone")
	if err := q.Ask(t.Context(), "", nil, func(Question) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("outcome = %v", err)
	}
}
