package host

import (
	"errors"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func TestLifeLastsAsLongAsItsCalls(t *testing.T) {
	over := 0
	l := newLife(func() { over++ })
	for range 2 {
		if !l.enter() {
			t.Fatal("nobody may enter")
		}
	}
	ctx, done := l.during(t.Context())
	defer done()
	l.retire(nil)
	l.retire(nil)
	if l.enter() {
		t.Error("one may enter after another version took its place")
	}
	l.leave()
	if over != 0 || ctx.Err() != nil {
		t.Errorf("it ended under a call: %d, %v", over, ctx.Err())
	}
	l.leave()
	if over != 1 {
		t.Errorf("it ended %d times", over)
	}
	no := errors.New("no")
	if err := l.explain(no); !errors.Is(err, no) {
		t.Errorf("an error of its own became %v", err)
	}
}

func TestLifeThatNobodyUses(t *testing.T) {
	over := 0
	l := newLife(func() { over++ })
	l.retire(nil)
	if over != 1 {
		t.Errorf("it ended %d times", over)
	}
}

func TestRevocationEndsCalls(t *testing.T) {
	l := newLife(func() {})
	l.enter()
	ctx, done := l.during(t.Context())
	defer done()
	l.retire(abi.Errorf(abi.ErrUntrusted, "verify", "it is revoked"))
	<-ctx.Done()
	if err := l.explain(ctx.Err()); !errors.Is(err, abi.ErrUntrusted) {
		t.Errorf("the call ended with %v", err)
	}
	if err := l.explain(nil); err != nil {
		t.Errorf("a call that was done before: %v", err)
	}
}

func TestJitter(t *testing.T) {
	for range 200 {
		if d := jitter(time.Hour); d < 53*time.Minute || d > 67*time.Minute {
			t.Fatalf("an hour became %s", d)
		}
	}
	if d := jitter(1); d != 1 {
		t.Errorf("a nanosecond became %s", d)
	}
}

// A tool of a plugin that isn't trusted says why, also if only its name is known.
func TestToolsOfWhatIsRefused(t *testing.T) {
	bad := abi.Errorf(abi.ErrUntrusted, "verify", "it is damaged").WithHint("drawbridge install acme/my-tracker@1.0.0")
	c := &catalog{
		revoked: map[string]*abi.Error{"wiki_read": bad}, unread: map[string]*abi.Error{"acme/my-tracker": bad},
	}
	for tool, refused := range map[string]bool{
		"wiki_read": true, "my_tracker_list": true, "my_tracker.list": true, "wiki_other": false, "my_trackers": false, "other_list": false,
	} {
		if err := c.noTool(tool); errors.Is(err, abi.ErrUntrusted) != refused {
			t.Errorf("%s: %v, want refused %v", tool, err, refused)
		}
	}
}
