package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

const (
	maxMessage = 4 << 20 // bytes of one JSON-RPC message, on either transport
	maxID      = 256     // bytes of a request's id or a progress token, as JSON
)

// A message is one JSON-RPC message from a client, read strictly.
type message struct {
	id      json.RawMessage // as the client wrote it; nil for a notification
	key     string          // the same for all spellings of one id
	method  string          // empty for an answer to a request of ours
	result  json.RawMessage // of an answer; nil if it is an error
	params  json.RawMessage // as received; nil if absent
	fields  map[string]json.RawMessage
	meta    map[string]json.RawMessage
	version string          // the protocol version in _meta; empty in the old era
	token   json.RawMessage // the progress token; nil if absent
}

// notification reports whether m expects no answer.
func (m *message) notification() bool { return m.id == nil }

// modern reports whether m belongs to the stateless era.
func (m *message) modern() bool { return mcp.IsModernProtocol(m.version) }

// An rpcError is a JSON-RPC error. Its text is ours or the client's own words.
type rpcError struct {
	code int
	msg  string
	data any
}

func rpcErrorf(code int, format string, args ...any) *rpcError {
	return &rpcError{code: code, msg: fmt.Sprintf(format, args...)}
}

// parseMessage reads one message. With an error the message is nil or holds what
// was readable before it, the id above all.
func parseMessage(data []byte) (*message, *rpcError) {
	envelope, err := split(data)
	if err != nil {
		return refusedMessage(data, err), rpcFor(err)
	}
	if envelope == nil {
		return nil, rpcErrorf(mcp.INVALID_REQUEST, "a message is one JSON object; batches are not supported")
	}
	m := &message{}
	if err := m.readEnvelope(envelope); err != nil {
		return m, err
	}
	if err := m.readParams(); err != nil {
		return m, err
	}
	return m, nil
}

// split takes a message apart, and refuses what two readers could understand
// differently. It is nil for what is no object.
func split(data []byte) (map[string]json.RawMessage, *strictjson.Error) {
	members, err := strictjson.Members(data, strictjson.MaxBytes(maxMessage), strictjson.MaxDepth(abi.MaxJSONDepth), strictjson.AnyText())
	var e *strictjson.Error
	if err != nil && !errors.As(err, &e) {
		e = &strictjson.Error{Reason: strictjson.Syntax, Path: "$"}
	}
	return members, e
}

// rpcFor words a refusal.
func rpcFor(e *strictjson.Error) *rpcError {
	switch e.Reason {
	case strictjson.Syntax, strictjson.TrailingData, strictjson.ByteOrderMark,
		strictjson.InvalidUTF8, strictjson.LoneSurrogate:
		return rpcErrorf(mcp.PARSE_ERROR, "parse error: %v", e)
	case strictjson.TooLarge, strictjson.TooDeep, strictjson.DuplicateKey, strictjson.UnknownKey,
		strictjson.FoldedKey, strictjson.ControlCharacter, strictjson.BidiControl, strictjson.NotInteger,
		strictjson.OutOfRange, strictjson.WrongType, strictjson.BadDestination:
	}
	return rpcErrorf(mcp.INVALID_REQUEST, "invalid request: %v", e)
}

// refusedMessage is a refused message with its id alone, so that its client needn't
// wait for an answer, or nil if the fault leaves the id in doubt.
func refusedMessage(data []byte, e *strictjson.Error) *message {
	if e.Path == "$" || strings.HasPrefix(e.Path, "$.id") {
		return nil
	}
	var envelope map[string]json.RawMessage
	if json.Unmarshal(data, &envelope) != nil { // some of it is at fault, and its id is not
		return nil
	}
	key, ok := idKey(envelope["id"])
	if !ok {
		return nil
	}
	return &message{id: envelope["id"], key: key}
}

// object takes a JSON object apart; its keys are compared exactly.
func object(data []byte) (map[string]json.RawMessage, bool) {
	m, err := strictjson.Members(data, strictjson.MaxBytes(max(len(data), 1)), strictjson.MaxDepth(abi.MaxJSONDepth), strictjson.AnyText(), strictjson.AnyKeys())
	return m, err == nil && m != nil
}

// isObject reports whether JSON data begins like an object.
func isObject(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && data[0] == '{'
}

// text decodes a JSON string.
func text(data json.RawMessage) (string, bool) {
	var s string
	if len(data) == 0 || data[0] != '"' || json.Unmarshal(data, &s) != nil {
		return "", false
	}
	return s, true
}

func (m *message) readEnvelope(envelope map[string]json.RawMessage) *rpcError {
	if raw, ok := envelope["id"]; ok {
		key, ok := idKey(raw)
		if !ok {
			return rpcErrorf(mcp.INVALID_REQUEST, "id must be a string or an integer, in at most %d bytes", maxID)
		}
		m.id, m.key = raw, key
	}
	if name, ok := misspelt(envelope, "jsonrpc", "id", "method", "params", "result", "error"); ok {
		return rpcErrorf(mcp.INVALID_REQUEST, "unknown member %q", name)
	}
	if v, ok := text(envelope["jsonrpc"]); !ok || v != mcp.JSONRPC_VERSION {
		return rpcErrorf(mcp.INVALID_REQUEST, "jsonrpc must be %q", mcp.JSONRPC_VERSION)
	}
	_, isResult := envelope["result"]
	_, isError := envelope["error"]
	raw, hasMethod := envelope["method"]
	if hasMethod == (isResult || isError) {
		return rpcErrorf(mcp.INVALID_REQUEST, "a message has a method, or a result or error")
	}
	if hasMethod {
		var ok bool
		if m.method, ok = text(raw); !ok || m.method == "" {
			return rpcErrorf(mcp.INVALID_REQUEST, "method must be a string")
		}
	}
	if isResult && !isError {
		m.result = envelope["result"]
	}
	m.params = envelope["params"]
	return nil
}

func (m *message) readParams() *rpcError {
	if m.params == nil {
		return nil
	}
	var ok bool
	if m.fields, ok = object(m.params); !ok {
		return rpcErrorf(mcp.INVALID_PARAMS, "params must be an object")
	}
	if name, ok := misspelt(m.fields, "_meta", "name", "arguments", "cursor", "requestId",
		"protocolVersion", "capabilities", "clientInfo", "notifications", "inputResponses", "requestState", "uri", "ref", "argument", "context"); ok {
		return rpcErrorf(mcp.INVALID_REQUEST, "unknown parameter %q", name)
	}
	raw, ok := m.fields["_meta"]
	if !ok {
		return nil
	}
	if m.meta, ok = object(raw); !ok {
		return rpcErrorf(mcp.INVALID_PARAMS, "_meta must be an object")
	}
	return m.readMeta()
}

func (m *message) readMeta() *rpcError {
	if name, ok := misspelt(m.meta, "progressToken", mcp.MetaKeyProtocolVersion,
		mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities); ok {
		return rpcErrorf(mcp.INVALID_REQUEST, "unknown _meta field %q", name)
	}
	if raw, ok := m.meta[mcp.MetaKeyProtocolVersion]; ok {
		if m.version, ok = text(raw); !ok {
			return rpcErrorf(mcp.INVALID_PARAMS, "_meta field %s must be a string", mcp.MetaKeyProtocolVersion)
		}
	}
	if raw, ok := m.meta["progressToken"]; ok {
		if _, ok := idKey(raw); !ok {
			return rpcErrorf(mcp.INVALID_PARAMS, "progressToken must be a string or an integer, in at most %d bytes", maxID)
		}
		m.token = raw
	}
	return nil
}

// misspelt returns a key that is one of the names but for case or Unicode folding:
// a reader that doesn't mind would take it for that name.
func misspelt(m map[string]json.RawMessage, names ...string) (string, bool) {
	for key := range m {
		for _, name := range names {
			if key != name && strings.EqualFold(key, name) {
				return key, true
			}
		}
	}
	return "", false
}

// idKey returns one key for all spellings of an id or token. A number keeps all
// its digits: beyond 2^53 a float64 would make two ids one.
func idKey(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || len(raw) > maxID {
		return "", false
	}
	if s, ok := text(raw); ok {
		return "s" + s, true
	}
	digits := bytes.TrimPrefix(raw, []byte("-"))
	if len(digits) == 0 || bytes.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) {
		return "", false
	}
	return "n" + string(raw), true
}

// about returns the key of the request that a notification is about.
func (m *message) about() (key string, ok bool) {
	return idKey(m.fields["requestId"])
}

// A frame is what goes to the client: one JSON-RPC message on one line.
type frame []byte

// errorFrame words an error for the request with that id; nil stands for null,
// where the id could not be read.
func errorFrame(id json.RawMessage, e *rpcError) frame {
	return marshal(mcp.JSONRPCError{
		JSONRPC: mcp.JSONRPC_VERSION,
		ID:      requestID(id),
		Error:   mcp.JSONRPCErrorDetails{Code: e.code, Message: e.msg, Data: e.data},
	})
}

// notificationFrame words a notification.
func notificationFrame(method string, params map[string]any) frame {
	return marshal(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "method": method, "params": params})
}

// requestFrame words a request of ours.
func requestFrame(id, method string, params any) frame {
	return marshal(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": id, "method": method, "params": params})
}

// requestID gives mcp-go the client's own bytes as id.
func requestID(id json.RawMessage) mcp.RequestId {
	if id == nil {
		return mcp.NewRequestId(nil)
	}
	return mcp.NewRequestId(id)
}

// marshal is for values of ours, which always marshal.
func marshal(v any) frame {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return b
}
