package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/chromedp"
)

// A tap stands between the host and the browser's pipe. It remembers the
// message by which the host asks for an extraction, and sends it again, as a
// client without anything around it would: the floor that the host is held
// against.
type tap struct {
	inner chromedp.Transport

	mu   sync.Mutex // held while writing
	last *cdproto.Message

	wait sync.Map // by id: chan *cdproto.Message
	next int64
}

// firstRaw is where the tap's own message ids begin, far above the host's; Chromium
// takes 32 bits.
const firstRaw = 1 << 30

func newTap(inner chromedp.Transport) *tap { return &tap{inner: inner, next: firstRaw} }

func (t *tap) Read(ctx context.Context, m *cdproto.Message) error {
	for {
		if err := t.inner.Read(ctx, m); err != nil {
			return err
		}
		ch, ok := t.wait.LoadAndDelete(m.ID)
		if !ok {
			return nil
		}
		answer := *m
		ch.(chan *cdproto.Message) <- &answer
		*m = cdproto.Message{}
	}
}

func (t *tap) Write(ctx context.Context, m *cdproto.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.Method == "Runtime.callFunctionOn" && bytes.Contains(m.Params, []byte(`"extract"`)) {
		copied := *m
		copied.Params = bytes.Clone(m.Params) // the caller uses its buffer again
		t.last = &copied
	}
	return t.inner.Write(ctx, m)
}

func (t *tap) Close() error { return t.inner.Close() }

// table sends the remembered message once more and reads the table from its answer.
func (t *tap) table(b *testing.B) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
	defer cancel()
	result, err := t.raw(ctx)
	if err != nil {
		b.Fatal(err)
	}
	var res struct {
		Result struct{ Value string } `json:"result"`
	}
	var got struct {
		OK struct {
			Table table `json:"table"`
		} `json:"ok"`
	}
	err = json.Unmarshal(result, &res)
	if err == nil {
		err = json.Unmarshal([]byte(res.Result.Value), &got)
	}
	if err != nil {
		b.Fatal(err)
	}
	got.OK.Table.check(b)
}

// raw sends the remembered message once more and returns the answer's result.
func (t *tap) raw(ctx context.Context) ([]byte, error) {
	t.mu.Lock()
	if t.last == nil {
		t.mu.Unlock()
		return nil, errors.New("no extraction was seen yet")
	}
	t.next++
	m := *t.last
	m.ID = t.next
	ch := make(chan *cdproto.Message, 1)
	t.wait.Store(m.ID, ch)
	err := t.inner.Write(ctx, &m)
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case answer := <-ch:
		if answer.Error != nil {
			return nil, answer.Error
		}
		return answer.Result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestTapKeepsTheAnswersApart(t *testing.T) {
	p := &pipe{answers: make(chan *cdproto.Message, 4)}
	tp := newTap(p)
	ctx := t.Context()
	if err := tp.Write(ctx, &cdproto.Message{ID: 7, Method: "Runtime.callFunctionOn", Params: []byte(`{"arguments":[{"value":"extract"}]}`)}); err != nil {
		t.Fatal(err)
	}
	var first cdproto.Message // the answer to the host's own message
	if err := tp.Read(ctx, &first); err != nil || first.ID != 7 {
		t.Fatalf("the host read message %d, %v", first.ID, err)
	}
	got := make(chan cdproto.Message, 1)
	go func() {
		var m cdproto.Message
		_ = tp.Read(ctx, &m)
		got <- m
	}()
	if got, err := tp.raw(ctx); err != nil || string(got) != answerText {
		t.Fatalf("raw = %s, %v", got, err)
	}
	p.answers <- &cdproto.Message{ID: 8}
	if m := <-got; m.ID != 8 {
		t.Errorf("the host read message %d, want the one after the tap's own", m.ID)
	}
}

const answerText = `{}`

// A pipe is a browser that answers every message, once it was written.
type pipe struct{ answers chan *cdproto.Message }

func (p *pipe) Read(ctx context.Context, m *cdproto.Message) error {
	select {
	case a := <-p.answers:
		*m = *a
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pipe) Write(_ context.Context, m *cdproto.Message) error {
	p.answers <- &cdproto.Message{ID: m.ID, Result: []byte(answerText)}
	return nil
}

func (p *pipe) Close() error { return nil }
