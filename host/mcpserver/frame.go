package mcpserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

// resultFrame words mcp-go's result as the answer to the request with that id.
// A tool's result can be long, and as encoding/json would have it, it is read and
// written again for each value that it is nested in; here it is written once.
func resultFrame(id json.RawMessage, result any) (frame, error) {
	if res, ok := result.(*mcp.CallToolResult); ok && len(res.RawStructuredContent) > longResult {
		members, err := toolMembers(*res)
		if err != nil {
			return nil, err
		}
		return joinFrame(id, members), nil
	}
	b, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	return answerFrame(id, b), nil
}

// longResult is from where on writing a result once is worth its trouble, in bytes.
const longResult = 2 << 10

// toolMembers words the members of a tool's result, the long ones by themselves.
func toolMembers(res mcp.CallToolResult) (map[string]json.RawMessage, error) {
	content, err := json.Marshal(slices.Concat(res.Content, []mcp.Content{})) // [] if there is none
	if err != nil {
		return nil, err
	}
	structured := res.RawStructuredContent
	res.Content, res.RawStructuredContent = nil, nil
	rest, err := json.Marshal(res)
	if err != nil {
		return nil, err
	}
	members, ok := object(rest)
	if !ok {
		return nil, fmt.Errorf("a tool's result is no object: %.100q", rest)
	}
	members["content"] = content
	if structured != nil {
		members["structuredContent"] = structured
	}
	return members, nil
}

// joinFrame writes members, sorted by name, as the result of an answer.
func joinFrame(id json.RawMessage, members map[string]json.RawMessage) frame {
	n := len("{}")
	for name, value := range members {
		n += len(name) + len(value) + len(`"":,`)
	}
	b := append(beginAnswer(id, n), '{')
	for _, name := range slices.Sorted(maps.Keys(members)) {
		b = append(append(append(b, marshal(name)...), ':'), members[name]...)
		b = append(b, ',')
	}
	b[len(b)-1] = '}' // content is always there
	return append(b, '}')
}

// answerFrame puts a result, which is JSON, into the envelope of an answer.
func answerFrame(id, result json.RawMessage) frame {
	return append(append(beginAnswer(id, len(result)), result...), '}')
}

// beginAnswer writes the envelope as far as a result of n bytes. There is room for
// the whole frame, and for the end of its line.
func beginAnswer(id json.RawMessage, n int) frame {
	const head, middle = `{"jsonrpc":"` + mcp.JSONRPC_VERSION + `","id":`, `,"result":`
	if id == nil {
		id = json.RawMessage("null")
	}
	b := make([]byte, 0, len(head)+len(id)+len(middle)+n+len("}\n"))
	b = append(append(b, head...), id...)
	return append(b, middle...)
}
