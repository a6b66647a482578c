package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func TestQueueKeepsOrder(t *testing.T) {
	q := newQueue[int]()
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 1000 {
			q.push(i)
		}
		q.close()
		q.push(-1) // too late
	})
	for i := range 1000 {
		if v, ok := q.pop(); !ok || v != i {
			t.Fatalf("pop = %d, %v, want %d", v, ok, i)
		}
	}
	if v, ok := q.pop(); ok {
		t.Fatalf("popped %d from a closed queue", v)
	}
	wg.Wait()
}

// A scripted transport answers commands by a function.
type scripted struct {
	answer func(*cdproto.Message) *cdproto.Message
	in     chan *cdproto.Message
	once   sync.Once
	done   chan struct{}
}

func newScripted(answer func(*cdproto.Message) *cdproto.Message) *scripted {
	return &scripted{answer: answer, in: make(chan *cdproto.Message, 64), done: make(chan struct{})}
}

func (s *scripted) Read(_ context.Context, m *cdproto.Message) error {
	select {
	case got := <-s.in:
		*m = *got
		return nil
	case <-s.done:
		return io.EOF
	}
}

func (s *scripted) Write(_ context.Context, m *cdproto.Message) error {
	if a := s.answer(m); a != nil {
		s.in <- a
	}
	return nil
}

func (s *scripted) Close() error {
	s.once.Do(func() { close(s.done) })
	return nil
}

func TestConn(t *testing.T) {
	tr := newScripted(func(m *cdproto.Message) *cdproto.Message {
		switch m.Method {
		case "Browser.getVersion":
			return &cdproto.Message{ID: m.ID, Result: []byte(`{"product":"x"}`)}
		case "Target.getTargets":
			return &cdproto.Message{ID: m.ID, Error: &cdproto.Error{Code: -32000, Message: "no"}}
		case "Browser.close":
			return &cdproto.Message{ID: m.ID, Result: []byte(`{"product":`)}
		}
		return nil // never
	})
	c := newConn(tr)
	go c.run(t.Context())
	s := session{conn: c}
	if v, err := do(t.Context(), s, browser.GetVersion, cdp.Empty{}); err != nil || v.Product != "x" {
		t.Errorf("GetVersion = %v, %v", v, err)
	}
	var e *cdproto.Error
	if _, err := do(t.Context(), s, target.GetTargets, target.GetTargetsParams{}); !errors.As(err, &e) {
		t.Errorf("error = %v", err)
	}
	if _, err := do(t.Context(), s, browser.Close, cdp.Empty{}); err == nil {
		t.Error("a broken reply was taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	f := start(s, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{})
	cancel()
	if _, err := f.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	a, b := session{conn: c, id: "a"}, session{conn: c, id: "b"}
	fa := start(a, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{})
	fb := start(b, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{})
	c.failSession("a", errCrashed)
	if _, err := fa.wait(t.Context()); !errors.Is(err, errCrashed) {
		t.Errorf("error = %v", err)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fb.wait(t.Context()); !errors.Is(err, errGone) {
		t.Errorf("error = %v", err)
	}
	<-c.done
	if _, err := do(t.Context(), s, browser.GetVersion, cdp.Empty{}); !errors.Is(err, errGone) {
		t.Errorf("error = %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) != 0 {
		t.Errorf("%d commands are still waited for", len(c.pending))
	}
}

func TestAsError(t *testing.T) {
	own := &abi.Error{Code: abi.ErrForbidden, Msg: "x"}
	for _, c := range []struct {
		err  error
		code abi.Code
	}{
		{errGone, abi.ErrBrowserGone},
		{errCrashed, abi.ErrPageCrashed},
		{errClosed, abi.ErrPageClosed},
		{errNavigated, abi.ErrStaleRef},
		{context.DeadlineExceeded, abi.ErrTimeout},
		{context.Canceled, abi.ErrTimeout},
		{fmt.Errorf("w: %w", own), abi.ErrForbidden},
		{errors.New("other"), abi.ErrInternal},
	} {
		if err := asError("op", fmt.Errorf("doing: %w", c.err)); !errors.Is(err, c.code) || !errors.Is(err, c.err) {
			t.Errorf("asError(%v) = %v, want %s", c.err, err, c.code)
		}
	}
	if asError("op", nil) != nil {
		t.Error("nil is an error")
	}
}

func TestBodies(t *testing.T) {
	part := func(s string) *network.PostDataEntry { return &network.PostDataEntry{Bytes: []byte(s)} }
	for _, c := range []struct {
		r        network.Request
		body     string
		complete bool
	}{
		{network.Request{}, "", true},
		{network.Request{HasPostData: true, PostDataEntries: []*network.PostDataEntry{part("a"), part("b")}}, "ab", true},
		{network.Request{HasPostData: true, PostDataEntries: []*network.PostDataEntry{part("a"), part("")}}, "a", false},
		{network.Request{HasPostData: true}, "", false},
	} {
		f := flow{m: &member{owner: &Page{}}, ev: &fetch.EventRequestPaused{Request: &c.r}}
		if req := f.request(); string(req.Body) != c.body || req.BodyComplete != c.complete {
			t.Errorf("%+v: body %q, complete %v", c.r, req.Body, req.BodyComplete)
		}
	}
}

func TestKeys(t *testing.T) {
	for name, want := range map[string]key{
		"Enter": {"Enter", 13, "\r"}, "a": {"KeyA", 65, "a"}, "Z": {"KeyZ", 90, "Z"}, "7": {"Digit7", 55, "7"}, "é": {text: "é"}, " ": {"Space", 32, " "},
	} {
		if got, ok := keyOf(name); !ok || got != want {
			t.Errorf("keyOf(%q) = %+v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "enter", "Control", "ab", "\n", "Meta+q"} {
		if _, ok := keyOf(name); ok {
			t.Errorf("keyOf(%q) is a key", name)
		}
	}
}

func TestClip(t *testing.T) {
	for n := range 8 {
		if s := clip("aé田", n); len(s) > n || !utf8.ValidString(s) || !strings.HasPrefix("aé田", s) {
			t.Errorf("clip to %d = %q", n, s)
		}
	}
}

func TestCompileDepth(t *testing.T) {
	e := abi.Extraction{Cols: []abi.Col{{Name: "a"}}}
	for range maxNesting {
		inner := e
		e = abi.Extraction{Cols: []abi.Col{{Name: "a", Kind: abi.KindNested, Nested: &inner}}}
	}
	if _, err := compile(&e); err != nil {
		t.Errorf("%d tables: %v", maxNesting, err)
	}
	deep := abi.Extraction{Cols: []abi.Col{{Name: "a", Kind: abi.KindNested, Nested: &e}}}
	if _, err := compile(&deep); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("one more: %v", err)
	}
	s, err := compile(&abi.Extraction{Limit: abi.MaxRows + 1, Cols: []abi.Col{{Name: "a", Kind: abi.KindExists}}})
	if err != nil || s.Limit != abi.MaxRows || s.Cols[0].Type != abi.TypeBool {
		t.Errorf("compile = %+v, %v", s, err)
	}
}

func FuzzDecodeAnswer(f *testing.F) {
	for _, s := range []string{
		`"{\"ok\":{\"rows\":1}}"`, `"{\"error\":{\"code\":\"timeout\",\"message\":\"x\"}}"`, `"{\"error\":{\"code\":\"network\"}}"`,
		`""`, `1`, `null`, `"{\"ok\":null}"`, `"\ud800"`, `"{\"error\":{}}"`, `"{\"ok\":1,\"error\":{\"code\":\"internal\"}}"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeReply[helperResult]("helper", reply{msg: &cdproto.Message{Result: fmt.Appendf(nil, `{"result":{"value":%s}}`, b)}})
		if err != nil {
			return
		}
		var x Extracted
		if err := decodeAnswer(r.Result.Value, &x); err == nil && x.Rows == 0 && strings.Contains(string(b), `\"error\":{\"code\":\"timeout\"`) {
			t.Errorf("an error was taken for an answer: %q", b)
		}
	})
}
