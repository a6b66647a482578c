package browser

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chromedp/cdproto/input"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Act does one act step: click, fill, select, check or press. Its selector has
// to match exactly one element, which is brought into view; mouse and keyboard
// events are the browser's own, so the page can't tell them from a user's. If
// the step makes the page go elsewhere, Act returns when it is there. A document
// that the policy refuses is the policy's error. dialog answers what the step
// makes the page ask.
func (p *Page) Act(ctx context.Context, step abi.Step, dialog abi.Dialog) error {
	ctx, cancel := context.WithTimeout(ctx, abi.NavigateTimeout)
	defer cancel()
	return p.run(ctx, string(step.Op), func(ctx context.Context) error {
		p.setAnswer(dialog)
		defer p.setAnswer("")
		if err := p.act(ctx, &step); err != nil {
			return err
		}
		return p.settle(ctx)
	})
}

func (p *Page) setAnswer(d abi.Dialog) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = d
}

func (p *Page) act(ctx context.Context, step *abi.Step) error {
	switch step.Op {
	case abi.OpClick:
		_, err := p.click(ctx, step)
		return err
	case abi.OpFill:
		return p.fill(ctx, step)
	case abi.OpSelect:
		var a found
		err := p.invoke(ctx, "choose", map[string]any{"within": step.Within, "selector": step.Selector, "value": step.Value}, &a)
		p.learn(a.Tokens)
		return err
	case abi.OpCheck:
		return p.tick(ctx, step)
	case abi.OpPress:
		return p.press(ctx, step)
	case abi.OpNavigate, abi.OpWait, abi.OpExtract, abi.OpExists, abi.OpPage, abi.OpHTML, abi.OpSnapshot, abi.OpScreenshot:
	}
	return abi.Errorf(abi.ErrUnsupportedAction, "act", "%q is no act step", step.Op)
}

// found is what the helper says of the element that a step is about.
type found struct {
	X         float64  `json:"x"`
	Y         float64  `json:"y"`
	Checkable bool     `json:"checkable"`
	Checked   bool     `json:"checked"`
	Direct    bool     `json:"direct"`
	Editor    bool     `json:"editor"` // an element that the page makes editable
	Tokens    []string `json:"tokens"`
}

func (p *Page) click(ctx context.Context, step *abi.Step) (found, error) {
	at, err := p.locate(ctx, step)
	if err != nil {
		return at, err
	}
	return at, p.clickAt(ctx, at)
}

func (p *Page) locate(ctx context.Context, step *abi.Step) (found, error) {
	var at found
	err := p.invoke(ctx, "locate", map[string]any{"within": step.Within, "selector": step.Selector}, &at)
	p.learn(at.Tokens)
	return at, err
}

// clickAt moves there, looks whether the element is still what a click would
// reach, and clicks.
func (p *Page) clickAt(ctx context.Context, at found) error {
	if err := p.moveTo(ctx, at); err != nil {
		return err
	}
	tokens := at.Tokens
	if err := p.invoke(ctx, "relocate", nil, &at); err != nil {
		return err
	}
	p.learn(tokens)
	if err := p.mouse(ctx, input.DispatchMouseEventTypeMousePressed, at, 1); err != nil {
		return err
	}
	return p.mouse(ctx, input.DispatchMouseEventTypeMouseReleased, at, 1)
}

// moveTo moves the mouse. The browser delivers a move with the next frame, and a
// tab that is in no window has none: there an event of another kind behind it, a
// button that is let go of and was not held, makes the page take both at once.
func (p *Page) moveTo(ctx context.Context, at found) error {
	if !p.hidden {
		return p.mouse(ctx, input.DispatchMouseEventTypeMouseMoved, at, 0)
	}
	post(p.s, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: at.X, Y: at.Y})
	return p.mouse(ctx, input.DispatchMouseEventTypeMouseReleased, at, 0)
}

func (p *Page) mouse(ctx context.Context, typ input.DispatchMouseEventType, at found, clicks int64) error {
	ev := input.DispatchMouseEventParams{Type: typ, X: at.X, Y: at.Y, ClickCount: clicks}
	if clicks > 0 {
		ev.Button = input.MouseButtonLeft
	}
	_, err := do(ctx, p.s, input.DispatchMouseEvent, ev)
	return err
}

func (p *Page) fill(ctx context.Context, step *abi.Step) error {
	at, err := p.focus(ctx, step, true)
	if err != nil {
		return err
	}
	value := map[string]any{"value": step.Value}
	switch {
	case at.Direct:
		err = p.invoke(ctx, "put", value, nil)
	case step.Value == "":
		err = p.key(ctx, "Delete", 0)
	case at.Editor:
		err = p.typeLines(ctx, step.Value)
	default:
		_, err = do(ctx, p.s, input.InsertText, input.InsertTextParams{Text: strings.ReplaceAll(step.Value, "\r\n", "\n")})
	}
	if err != nil {
		return err
	}
	return p.invoke(ctx, "filled", value, nil)
}

// typeLines types into an editor as a person does: text for text, and a line break
// by Shift+Enter, since Enter alone sends the text in many of them. What they
// make of a line feed that is put in as text differs.
func (p *Page) typeLines(ctx context.Context, text string) error {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		var err error
		switch {
		case i > 0:
			err = p.key(ctx, "Enter", shiftKey)
		case line == "":
			err = p.key(ctx, "Delete", 0) // what was selected
		}
		if err == nil && line != "" {
			_, err = do(ctx, p.s, input.InsertText, input.InsertTextParams{Text: line})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *Page) focus(ctx context.Context, step *abi.Step, whole bool) (found, error) {
	var at found
	err := p.invoke(ctx, "focus", map[string]any{"within": step.Within, "selector": step.Selector, "select": whole}, &at)
	p.learn(at.Tokens)
	return at, err
}

// tick clicks a checkbox or radio button unless it is as wanted already.
func (p *Page) tick(ctx context.Context, step *abi.Step) error {
	at, err := p.locate(ctx, step)
	switch {
	case err != nil:
		return err
	case !at.Checkable:
		return abi.Errorf(abi.ErrUnsupportedAction, "check", "%q is neither a checkbox nor a radio button", step.Selector)
	case at.Checked == step.Checked:
		return nil
	}
	if err := p.clickAt(ctx, at); err != nil {
		return err
	}
	var now bool
	if err := p.invoke(ctx, "checked", nil, &now); errors.Is(err, errNavigated) {
		return nil // the click led away
	} else if err != nil {
		return err
	}
	if now != step.Checked {
		return abi.Errorf(abi.ErrUnsupportedAction, "check", "%q did not change by a click", step.Selector)
	}
	return nil
}

func (p *Page) press(ctx context.Context, step *abi.Step) error {
	if _, ok := keyOf(step.Key); !ok {
		return abi.Errorf(abi.ErrInvalidArgs, "press", "unknown key %q", step.Key)
	}
	if _, err := p.focus(ctx, step, false); err != nil {
		return err
	}
	return p.key(ctx, step.Key, 0)
}

// shiftKey is Shift in CDP's bit field of modifiers.
const shiftKey = 8

// key presses and releases one key, while the modifiers are held.
func (p *Page) key(ctx context.Context, name string, held int64) error {
	k, _ := keyOf(name)
	down := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyDown, Key: name, Code: k.code, Text: k.text, UnmodifiedText: k.text,
		WindowsVirtualKeyCode: k.virtual, NativeVirtualKeyCode: k.virtual, Modifiers: held,
	}
	if k.text == "" {
		down.Type = input.DispatchKeyEventTypeRawKeyDown
	}
	up := down
	up.Type, up.Text, up.UnmodifiedText = input.DispatchKeyEventTypeKeyUp, "", ""
	if _, err := do(ctx, p.s, input.DispatchKeyEvent, down); err != nil {
		return err
	}
	_, err := do(ctx, p.s, input.DispatchKeyEvent, up)
	return err
}

// settleTime bounds the wait for a document that a step has asked for and that
// neither comes nor is refused.
const settleTime = 10 * time.Second

// settle waits for the document that the step has led to, if any. A message to
// the helper is the fence: while a navigation is under way it is held, and what
// the page has asked for until then has been told when it is answered.
func (p *Page) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	if err := p.fence(ctx); err != nil && !errors.Is(err, errNavigated) {
		return err
	}
	err := p.await(ctx, func() bool { return p.mainRefused != nil || (!p.away && p.world != "") })
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mainRefused != nil {
		return refusal("act", p.mainRefused)
	}
	return nil
}

// fence sends a message to the helper, and gives up waiting for its answer when
// a document was refused.
func (p *Page) fence(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if p.await(ctx, func() bool { return p.mainRefused != nil }) == nil {
			cancel(errNavigated)
		}
	}()
	err := p.invoke(ctx, "fence", nil, nil)
	if err != nil && errors.Is(context.Cause(ctx), errNavigated) {
		return errNavigated
	}
	return err
}
