package host

import (
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
)

// A Principal is who asks for a call.
type Principal = gate.Principal

// A ToolDef is one tool as clients see it.
type ToolDef struct {
	Name        string          // as listed, such as tracker_list
	Dotted      string          // "connector.tool", accepted in calls too
	Title       string          // one line, for people
	Description string          // at most 1 KiB
	Input       json.RawMessage // JSON Schema 2020-12, type object, admitted
	Output      json.RawMessage // likewise
	ReadOnly    bool
	Destructive bool
	Idempotent  bool
	OpenWorld   bool
	// MaxResult is how many bytes of a result a client gets at once, where that is
	// more than abi.MinClientResult.
	MaxResult int
}

// A CallRequest is one tools/call, from whichever transport.
type CallRequest struct {
	Principal Principal
	Client    string          // what the client calls itself; display only
	Tool      string          // listed or dotted name
	Args      json.RawMessage // an object; nil is {}
	// Ask is how the client itself can ask for a confirmation.
	Ask Inquiry
	// Progress reports how far the call is; total 0 means unknown. It never
	// blocks, may be nil, and is not called after Call returned.
	Progress func(done, total float64, message string)
}

// A CallResult is what a call ended with. Exactly one of Structured and Err is set.
type CallResult struct {
	Structured json.RawMessage // an object that fits the tool's output schema
	Images     []Image         // those that Structured names by their handles, in its order
	Err        *abi.Error      // already safe to show
	AuditID    string          // of the call's row in the audit log
	Origin     string          // whose page text Structured is; empty if the tool was not found
	// Confirm is set beside Err where the client is to ask, and to repeat the call.
	Confirm *Confirmation
}

// An Image is a picture of a page that a call took.
type Image struct {
	Handle abi.ImageHandle // what a result calls it by
	MIME   string          // image/png or image/jpeg
	Data   []byte          // at most abi.MaxImage
}
