package control

import (
	"encoding/json"
	"io"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
	"github.com/drawbridge-mcp/drawbridge/host"
)

// ProtocolVersion is the version of this protocol. A daemon and a command line
// that differ in it do not talk to each other.
const ProtocolVersion = 1

// The limits of one exchange.
const (
	maxParams = 2 << 20 // bytes of a request's parameters
	maxEvent  = 8 << 20 // bytes of one event
)

// headerVersion carries ProtocolVersion in every request.
const headerVersion = "Drawbridge-Protocol"

// An Event is one line of an answer. The last one of an answer has Result or Error.
type Event struct {
	Progress *Progress       `json:"progress,omitempty"`
	Question *host.Question  `json:"question,omitempty"`
	Waiting  *Waiting        `json:"waiting,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Error    *Error          `json:"error,omitempty"`
}

// Progress tells how far a long method is; Total 0 means unknown.
type Progress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
	// Passing is for a terminal alone, each in the place of the one before.
	Passing bool `json:"passing,omitempty"`
}

// Waiting tells a caller that its call waits for a person, who decides elsewhere.
type Waiting struct {
	ID   string `json:"id"`   // of the approval
	Tool string `json:"tool"` // dotted
}

// An Error is an abi.Error as data, without its cause.
type Error struct {
	Code    abi.Code   `json:"code"`
	Reason  abi.Reason `json:"reason,omitempty"`
	Message string     `json:"message"`
	Hint    string     `json:"hint,omitempty"`
}

func wireError(e *abi.Error) *Error {
	return &Error{Code: e.Code, Reason: e.Reason, Message: e.Error(), Hint: e.Hint}
}

func (e *Error) abi() *abi.Error {
	return &abi.Error{Code: e.Code, Reason: e.Reason, Msg: e.Message, Hint: e.Hint}
}

// decodeParams reads a request's parameters into v, strictly.
func decodeParams(r io.Reader, v any) error {
	data, err := io.ReadAll(io.LimitReader(r, maxParams+1))
	if err != nil {
		return err
	}
	if len(data) > maxParams {
		return abi.Errorf(abi.ErrLimitExceeded, "control", "parameters are more than %d bytes", maxParams)
	}
	if len(data) == 0 {
		data = []byte("{}")
	}
	if err := strictjson.Decode(data, v, strictjson.MaxBytes(maxParams), strictjson.AnyText()); err != nil {
		return abi.Errorf(abi.ErrInvalidArgs, "control", "%w", err)
	}
	return nil
}
