package abi

import "encoding/json"

// A CallInput is what the export call receives. Time, randomness and settings
// come with it, so that a call can be replayed.
type CallInput struct {
	V        int               `json:"v"`
	Tool     string            `json:"tool"` // "connector.tool"
	Args     json.RawMessage   `json:"args"` // an object that fits the tool's input schema
	Now      int64             `json:"now"`  // Unix time, milliseconds
	Seed     uint32            `json:"seed"` // for the guest's own random generator
	Settings map[string]string `json:"settings"`
	Locale   string            `json:"locale"` // BCP 47
}

// A CallOutput is what the export call returns: a result that fits the tool's
// output schema, or an error.
type CallOutput struct {
	OK     bool            `json:"ok"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *ErrorData      `json:"error,omitempty"`
}

// A Description is what the export describe returns. It must equal what the
// release says.
type Description struct {
	V     int      `json:"v"`
	Tools []string `json:"tools"` // "connector.tool", sorted
}

// ErrorData is an error as data, inside WASM and out.
type ErrorData struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// AsError turns e into an error of operation op.
func (e *ErrorData) AsError(op string) *Error {
	return &Error{Code: e.Code, Op: op, Msg: e.Message, Hint: e.Hint}
}

// Data turns e into data; its cause stays here.
func (e *Error) Data() *ErrorData {
	return &ErrorData{Code: e.Code, Message: e.Error(), Hint: e.Hint}
}

// A Program is what the host calls read and act take: steps that run in one
// trip and stop at the first failure.
type Program struct {
	V     int    `json:"v"`
	Steps []Step `json:"steps"`
}

// An Answer is what read and act return.
type Answer struct {
	OK    bool                       `json:"ok"`
	Page  *PageInfo                  `json:"page,omitempty"` // where the last navigation of the program ended
	Data  map[string]json.RawMessage `json:"data,omitempty"` // by the steps' As
	Step  int                        `json:"step,omitempty"` // the one that failed
	Error *ErrorData                 `json:"error,omitempty"`
	// Dialogs tells which JavaScript dialogs were answered meanwhile.
	Dialogs []DialogInfo `json:"dialogs,omitempty"`
	// Truncated is set when an extract step stopped at a limit.
	Truncated bool `json:"truncated,omitempty"`
}

// PageInfo says where a page is.
type PageInfo struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// DialogInfo reports a dialog that the host answered.
type DialogInfo struct {
	Type     string `json:"type"` // alert, confirm, prompt, beforeunload
	Message  string `json:"message"`
	Accepted bool   `json:"accepted"`
}

// A FetchRequest is what the host call fetch takes: one same-origin request in
// the current page's context, cookies attached.
type FetchRequest struct {
	V      int         `json:"v"`
	Method string      `json:"method"`
	Path   string      `json:"path"` // relative to the base URL, query included
	Accept string      `json:"accept,omitempty"`
	Body   *FetchBody  `json:"body,omitempty"`
	Parse  FetchParse  `json:"parse,omitempty"`  // default text
	Schema *Extraction `json:"schema,omitempty"` // with parse html: extract from the response, which is never rendered
}

// A FetchBody is a request's body by fields, so that the host can check it
// against a tool's writes before it goes out.
type FetchBody struct {
	Encoding Encoding        `json:"encoding"`
	Fields   []Field         `json:"fields,omitempty"` // urlencoded and multipart, in order
	JSON     json.RawMessage `json:"json,omitempty"`
}

// A Field is one name and value of a form.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Token says that the value is the form token that the page holds in the
	// element that this selector matches. Value is then empty.
	Token string `json:"token,omitempty"`
}

// FetchParse says what to make of a response.
type FetchParse string

// The ways to parse a response.
const (
	ParseText FetchParse = "text"
	ParseJSON FetchParse = "json"
	ParseHTML FetchParse = "html"
)

// A FetchAnswer is what fetch returns. A status of 400 and above is not an
// error by itself.
type FetchAnswer struct {
	OK          bool            `json:"ok"`
	Status      int             `json:"status,omitempty"`
	URL         string          `json:"url,omitempty"` // after redirects
	ContentType string          `json:"content_type,omitempty"`
	Text        string          `json:"text,omitempty"`
	JSON        json.RawMessage `json:"json,omitempty"`
	Table       json.RawMessage `json:"table,omitempty"` // with parse html
	Error       *ErrorData      `json:"error,omitempty"`
}

// A ProgressReport is what the host call progress takes; its answer is an Answer.
type ProgressReport struct {
	V       int     `json:"v"`
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"` // 0 if not known
	Message string  `json:"message,omitempty"`
}
