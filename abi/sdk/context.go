package sdk

import (
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Context is one tool call. It is valid until the tool's function returns,
// and for one goroutine.
type Context struct {
	host hostLink
	in   abi.CallInput
	rng  *rand.Rand
}

func newContext(host hostLink, in abi.CallInput) *Context {
	return &Context{host: host, in: in}
}

// Now is the time at which the call began. It does not advance, so that a
// recorded call can be replayed.
func (c *Context) Now() time.Time { return time.UnixMilli(c.in.Now).UTC() }

// Rand is a random generator that is seeded with the call, not for secrets.
func (c *Context) Rand() *rand.Rand {
	if c.rng == nil {
		c.rng = rand.New(rand.NewPCG(uint64(c.in.Seed), 0)) //nolint:gosec // a replayed call must see the same numbers
	}
	return c.rng
}

// Setting is the value of a setting that plugin.yaml declares, or "".
func (c *Context) Setting(name string) string { return c.in.Settings[name] }

// Locale is the user's language as a BCP 47 tag, such as "en-GB".
func (c *Context) Locale() string { return c.in.Locale }

// Log writes a line to the connector's log. The host cuts long ones.
func (c *Context) Log(message string) { c.host.log(message) }

// Read runs read steps in one trip. The error is an *abi.Error whose Op names
// the step that failed. Needs the capability read.
func (c *Context) Read(steps ...abi.Step) (*Result, error) {
	return runProgram(steps, c.host.read)
}

// Act runs read and act steps in one trip. Only a destructive tool may cause a
// request that changes something, and only one that its writes list. Needs the
// capability act.
func (c *Context) Act(steps ...abi.Step) (*Result, error) {
	return runProgram(steps, c.host.act)
}

// Screenshot runs read steps and [Shot] steps in one trip. Put the handles, from
// [Result.Image], into the tool's result: the caller gets the pictures. Needs the
// capability screenshot.
func (c *Context) Screenshot(steps ...abi.Step) (*Result, error) {
	return runProgram(steps, c.host.screenshot)
}

// Fetch sends one request to the connector's own origin, with the page's
// cookies. An HTTP status of 400 and above is not an error; look at
// Status. V may be left out. Needs the capability fetch.
func (c *Context) Fetch(req abi.FetchRequest) (*abi.FetchAnswer, error) {
	req.V = abi.Version
	var ans abi.FetchAnswer
	if err := decodeAnswer(c.host.fetch(encode(req)), &ans); err != nil {
		return nil, err
	}
	if !ans.OK {
		return nil, answerError(ans.Error, "fetch "+req.Path)
	}
	return &ans, nil
}

// Progress tells the caller how far the call is. Total is 0 if unknown. It is a
// courtesy: failures are ignored. Needs the capability progress.
func (c *Context) Progress(done, total float64, message string) {
	c.host.progress(encode(abi.ProgressReport{V: abi.Version, Done: done, Total: total, Message: message}))
}

// Navigate goes to a page by its path under the base URL.
func (c *Context) Navigate(path string) error {
	_, err := c.Read(Navigate(path))
	return err
}

// WaitFor waits until selector matches.
func (c *Context) WaitFor(selector string) error {
	_, err := c.Read(Wait(selector))
	return err
}

// Text is the text of the first element that selector matches in the current
// page. Several texts are better read in one trip, with [Context.Read].
func (c *Context) Text(selector string) (string, error) {
	res, err := c.Read(Extract("it", Fields(Text("text", selector))))
	if err != nil {
		return "", err
	}
	row, err := Row[struct {
		Text string `json:"text"`
	}](res, "it")
	return row.Text, err
}

// Texts is the text of every element that selector matches in the current page.
// None is an empty list.
func (c *Context) Texts(selector string) ([]string, error) {
	res, err := c.Read(Extract("it", Fields(Texts("texts", selector))))
	if err != nil {
		return nil, err
	}
	row, err := Row[struct {
		Texts []string `json:"texts"`
	}](res, "it")
	return row.Texts, err
}

// RunProgram takes the host call as a function, so that it reaches no import
// that its caller does not name.
func runProgram(steps []abi.Step, hostCall func([]byte) []byte) (*Result, error) {
	raw := hostCall(encode(abi.Program{V: abi.Version, Steps: steps}))
	res, ok := splitAnswer(raw)
	if !ok {
		res = &Result{}
		if err := decodeAnswer(raw, &res.Answer); err != nil {
			return nil, err
		}
	}
	if !res.OK {
		return nil, answerError(res.Error, stepName(steps, res.Step))
	}
	return res, nil
}

// DecodeAnswer ignores fields that it does not know: a newer host may send them.
func decodeAnswer(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return abi.Errorf(abi.ErrInternal, "host call", "decoding the host's answer: %w", err)
	}
	return nil
}

func answerError(data *abi.ErrorData, op string) error {
	if data == nil {
		return abi.Errorf(abi.ErrInternal, op, "the host gave no reason")
	}
	return data.AsError(op)
}
